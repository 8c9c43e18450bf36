/** The platform's; Node 18 does not have it as a global. */
export async function webCrypto(): Promise<Crypto> {
  return globalThis.crypto ?? (await import("node:crypto")).webcrypto;
}

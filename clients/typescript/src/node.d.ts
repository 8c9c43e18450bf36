// The one thing of Node that is used where it is no global: version 18 has its WebCrypto here.
declare module "node:crypto" {
  export const webcrypto: Crypto;
}

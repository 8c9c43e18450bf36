// The one thing of Node that is used if it is not global: version 18 has its WebCrypto here.
declare module "node:crypto" {
  export const webcrypto: Crypto;
}

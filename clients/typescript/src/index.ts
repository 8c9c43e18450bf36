export { Laari } from "./client.js";
export * from "./codes.js";
export type { Options } from "./config.js";
export type { CallOptions, KeyedOptions } from "./connection.js";
export * from "./errors.js";
export * from "./generated.js";
export { Listing, type Page } from "./listing.js";
export { verifyWebhook, type VerifyOptions } from "./webhooks.js";

import { makeConfig, type Options } from "./config.js";
import { Connection } from "./connection.js";
import { Resources } from "./generated.js";

/**
 * The merchant and wallet interfaces of one service, for one merchant or wallet. Give
 * `secretKey`, or `clientId` and `clientSecret`, or `walletKey`, or that beside one of the others.
 */
export class Laari extends Resources {
  constructor(options: Options) {
    super(new Connection(makeConfig(options)));
  }
}

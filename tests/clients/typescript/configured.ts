// What a client cannot be made of; the argument is a list of options. Prints each complaint.
import { inspect } from "node:util";
import { Laari, LaariError } from "laari-client";

for (const options of JSON.parse(process.argv[2] ?? "[]")) {
  try {
    console.log(inspect(new Laari(options), { depth: null, showHidden: true }).replace(/\n/g, " "));
  } catch (error) {
    if (!(error instanceof LaariError)) throw error;
    console.log(`${error.name}: ${error.message}`);
  }
}

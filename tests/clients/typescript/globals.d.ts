// What the scripts use of Node, so that no types of it have to be installed.
declare const process: { argv: string[]; env: Record<string, string | undefined> };
declare module "node:util" {
  export function inspect(value: unknown, options?: { depth?: null; showHidden?: boolean }): string;
}

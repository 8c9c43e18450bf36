"""The TypeScript samples of the guides, compiled strictly against the built client."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.api.guide_samples import (
    CLIENTS,
    WITH_SAMPLES,
    client_samples,
    file_named,
    needed,
    samples,
)

PATIENCE_SECONDS = 300
OPTIONS = {
    "target": "ES2022",
    "module": "NodeNext",
    "moduleResolution": "NodeNext",
    "lib": ["ES2022", "DOM"],
    "types": [],
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
}

# What the samples use of Node: its own declarations are a package that nothing else here needs.
NODE = """\
declare const process: { env: Record<string, string | undefined> };
interface Buffer extends Uint8Array {}
declare const Buffer: { concat(chunks: Buffer[]): Buffer };
declare module "node:http" {
  interface Incoming extends AsyncIterable<unknown> {
    headers: Record<string, string | string[] | undefined>;
  }
  interface Outgoing {
    writeHead(status: number): { end(): void };
  }
  export function createServer(
    handler: (request: Incoming, response: Outgoing) => Promise<void>,
  ): { listen(port: number, host: string): void };
}
"""


def built(place: Path) -> None:
    """A project with the client as it is published, `GUIDE.js` and `readme-N.js` of its README."""
    needed("node", "tsc")
    package = place / "node_modules/laari-client"
    shutil.copytree(CLIENTS["ts"], package, ignore=shutil.ignore_patterns("dist", "node_modules"))
    _compile(package)
    shutil.rmtree(package / "src")
    (place / "package.json").write_text('{"type": "module"}')
    (place / "node.d.ts").write_text(NODE)
    for guide in WITH_SAMPLES:
        program = "\n".join(block.code for block in samples(guide, "ts"))
        (place / f"{guide}.ts").write_text(program)
    for number, code in enumerate(client_samples("ts")):
        (place / f"readme-{number}.ts").write_text(code)
    (place / "receiver.ts").write_text(file_named("receiver.ts"))
    (place / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS}))
    _compile(place)


def _compile(project: Path) -> None:
    ended = subprocess.run(
        ["tsc", "-p", ".", "--skipDefaultLibCheck"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout

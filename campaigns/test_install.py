"""Every way to install Laari, from nothing to a paid payment, on a machine without a network.

The base of the image is a Debian made by debootstrap, and the Debian machine of docs/install.md is
another. Needs root, and the tools that `missing_tools` names.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns.install.machine import PLACE, ROOT, command, debian, inside, missing_tools, wheels
from tests.api.guide_samples import blocks_of

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(bool(missing_tools()), reason=f"needs {', '.join(missing_tools())}"),
]

PACKAGING = ROOT / "packaging"
INSTALL = ROOT / "docs" / "install.md"
MOST_IMAGE_MEGABYTES = 350
MOST_EXPOSURE = 2.0
HOST = "pay.example.com"
USER = 10001
CUSTOMER = ROOT / "campaigns" / "install" / "customer.py"

# Takes a payment from nothing, with `laari` and $ORIGIN; $AT is where the files go.
_FIRST_PAYMENT = """
laari merchant create "Coral Café" --mode live --json > "$AT/merchant.json"
laari customer create "Aishath Ali" --mobile 7712345 --json > "$AT/customer.json"
laari wallet topup "$(jq -r .account_number "$AT/customer.json")" 50000 --slip FT26321-0001
curl -fsS $TRUST "$ORIGIN/merchant/payments" -H 'Content-Type: application/json' \\
  -H "X-API-Key: $(jq -r .secret_key "$AT/merchant.json")" \\
  -d '{"reference": "order-1", "amount": 12550}' > "$AT/payment.json"
"""
# The customer pays in a browser.
_PAY = """
python3 "$CUSTOMER" "$(jq -r .data.payment_url "$AT/payment.json")" 7712345 \\
  "$(jq -r .password "$AT/customer.json")" $AUTHORITY
"""
_READY = """
ready() {
  for _ in $(seq 600); do curl -fsS -o /dev/null $TRUST "$1" 2>/dev/null && return; sleep 0.1; done
  echo "$1 is not ready" >&2; cat "$AT"/*.log >&2; exit 1
}
"""
_IS_PAID = """
curl -fsS $TRUST "$ORIGIN/merchant/payments/$(jq -r .data.id "$AT/payment.json")" \\
  -H "X-API-Key: $(jq -r .secret_key "$AT/merchant.json")" | jq -e '.data.status == "paid"'
"""


@pytest.fixture(scope="module")
def buildah() -> Iterator[list[str]]:
    store = PLACE / "containers"
    yield [
        "buildah",
        "--storage-driver",
        "vfs",
        "--root",
        str(store),
        "--runroot",
        str(store / "run"),
    ]
    shutil.rmtree(store, ignore_errors=True)


@pytest.fixture(scope="module")
def base(buildah: list[str]) -> str:
    machine = debian("python3", "python3-venv")
    container = command(*buildah, "from", "scratch").strip()
    command(*buildah, "add", "--quiet", container, str(machine), "/")
    command(*buildah, "commit", "--quiet", container, "localhost/base")
    command(*buildah, "rm", container)
    return "localhost/base"


def _image(buildah: list[str], base: str, target: str) -> tuple[Path, int]:
    """Builds a target, and tells where its root is and its size in megabytes."""
    command(
        *buildah, "build", "--isolation", "chroot", "--format", "docker", "--layers",
        "--build-arg", f"BASE={base}", "--build-arg", "PIP_NO_INDEX=1",
        "--build-arg", "PIP_FIND_LINKS=/wheels", "--volume", f"{wheels()}:/wheels:ro",
        "--target", target, "--tag", f"localhost/{target}", "--file", "Containerfile", ".",
    )  # fmt: skip
    container = command(*buildah, "from", f"localhost/{target}").strip()
    root = Path(command(*buildah, "mount", container).strip())
    return root, int(command("du", "-sm", str(root)).split()[0])


def _configuration(buildah: list[str], target: str, field: str) -> str:
    form = f"{{{{.Docker.Config.{field}}}}}"
    return command(
        *buildah, "inspect", "--type", "image", "--format", form, f"localhost/{target}"
    ).strip()


# What a container runtime does: one volume, the rest read-only, an ordinary user, no privileges.
_CONTAINER = """
mount --rbind "$1" "$1"
mount -o remount,bind,ro "$1"
mount --bind "$VOLUME" "$1/var/lib/laari"
IMAGE=(chroot "$1"
  setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all
  env -i PATH=/opt/laari/bin:/usr/bin:/bin LAARI_DATA_DIR=/var/lib/laari $SETTINGS)
laari() { "${IMAGE[@]}" laari "$@"; }
serve() {
  "${IMAGE[@]}" laari serve --host 0.0.0.0 --port 8000 >> "$AT/laari.log" 2>&1 & server=$!
  ready http://127.0.0.1:8000/readyz
  "${IMAGE[@]}" laari-ready
}
if "${IMAGE[@]}" touch /opt/laari/x 2>/dev/null; then echo "the root is not read-only"; exit 1; fi
BEGAN=$(date +%s%N)
serve
echo "ready after $((($(date +%s%N) - BEGAN) / 1000000)) ms"
"""
_RESTART_AND_AUDIT = """
kill -TERM $server
wait $server
serve
laari audit
"""


def _volume(place: Path) -> str:
    volume = place / "volume"
    volume.mkdir(mode=0o700)
    os.chown(volume, USER, USER)
    return str(volume)


def test_the_image_takes_a_payment_and_keeps_it(
    buildah: list[str], base: str, tmp_path: Path
) -> None:
    root, size = _image(buildah, base, "laari")
    assert 0 < size < MOST_IMAGE_MEGABYTES
    assert _configuration(buildah, "laari", "User") == "laari"
    assert "laari-ready" in _configuration(buildah, "laari", "Healthcheck")
    said = inside(
        root,
        _READY + _CONTAINER + _FIRST_PAYMENT + _PAY + _IS_PAID + _RESTART_AND_AUDIT + _IS_PAID,
        AT=str(tmp_path),
        VOLUME=_volume(tmp_path),
        ORIGIN="http://127.0.0.1:8000",
        SETTINGS="LAARI_PUBLIC_URL=http://127.0.0.1:8000",
        TRUST="",
        AUTHORITY="",
        CUSTOMER=str(CUSTOMER),
    )
    print(f"image: {size} MB, {said.splitlines()[0]}")


_POSTGRES = """
mount -t tmpfs -o mode=755 postgres /mnt
install -d -o postgres /mnt/postgres
POSTGRES="runuser -u postgres -- $(ls -d /usr/lib/postgresql/*/bin | tail -1)"
cd /mnt/postgres
$POSTGRES/initdb --auth=trust --username=laari data > "$AT/postgres.log"
$POSTGRES/pg_ctl -w -D data -o "-k /mnt/postgres" -l log start >> "$AT/postgres.log"
$POSTGRES/createdb -h 127.0.0.1 -U laari laari
"""
_CADDY = """
mount --bind "$AT/hosts" /etc/hosts
XDG_DATA_HOME="$AT/caddy" caddy run --adapter caddyfile --config "$AT/Caddyfile" \\
  > "$AT/caddy.log" 2>&1 &
ready "$ORIGIN/healthz"
"""
# Without a network Caddy signs its certificates itself.
_LOCAL_CERTIFICATES = "{\n\tlocal_certs\n\tskip_install_trust\n}\n"


def test_the_second_image_works_with_a_postgresql_and_caddy(
    buildah: list[str], base: str, tmp_path: Path
) -> None:
    """The three services of compose.production.yaml."""
    root, _ = _image(buildah, base, "laari-external")
    tmp_path.chmod(0o755)
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost {HOST}\n")
    (tmp_path / "Caddyfile").write_text(_LOCAL_CERTIFICATES + (PACKAGING / "Caddyfile").read_text())
    authority = tmp_path / "caddy/caddy/pki/authorities/local/root.crt"
    settings = {
        "LAARI_DATABASE_URL": "postgresql://laari@127.0.0.1/laari",
        "LAARI_MASTER_KEY": "ab" * 32,
        "LAARI_PUBLIC_URL": f"https://{HOST}",
        "LAARI_TRUSTED_PROXIES": "127.0.0.1",
    }
    inside(
        root,
        _READY
        + _POSTGRES
        + _CONTAINER
        + _CADDY
        + _FIRST_PAYMENT
        + _PAY
        + _IS_PAID
        + _RESTART_AND_AUDIT
        + _IS_PAID,
        AT=str(tmp_path),
        VOLUME=_volume(tmp_path),
        ORIGIN=f"https://{HOST}",
        SETTINGS=" ".join(f"{name}={value}" for name, value in settings.items()),
        TRUST=f"--cacert {authority}",
        AUTHORITY=str(authority),
        CUSTOMER=str(CUSTOMER),
    )


def _page(*words: str) -> str:
    """The commands of docs/install.md in blocks with these words on the fence."""
    blocks = [block for block in blocks_of(INSTALL) if block.language == "sh"]
    return "\n".join(block.code for block in blocks if block.words == words)


def test_the_page_leads_to_a_payment_on_an_empty_machine(tmp_path: Path) -> None:
    """Every command of the page, in one shell. Only the customer and systemd are stand-ins."""
    machine = tmp_path / "machine"
    command(
        "cp",
        "-a",
        str(debian("python3-venv", "caddy", "nginx-light", "curl", "jq", "ca-certificates")),
        str(machine),
    )
    source = machine / "root/laari"
    source.mkdir()
    (name,) = _source_archive(tmp_path)
    command("tar", "xf", str(name), "--strip-components=1", "-C", str(source))
    (source / "packaging/Caddyfile").write_text(
        _LOCAL_CERTIFICATES + (PACKAGING / "Caddyfile").read_text()
    )
    shutil.copy(CUSTOMER.with_name("systemctl"), machine / "usr/local/bin/systemctl")
    shutil.copy(CUSTOMER, machine / "root/customer.py")
    shutil.copytree(wheels(), machine / "wheels")
    (machine / "etc/hosts").write_text(f"127.0.0.1 localhost {HOST}\n")
    script = "\n".join(
        [
            "set -euo pipefail; cd /root/laari",
            _page("root").replace("systemctl restart caddy", _TRUSTED_CADDY),
            _PAY,
            _page("root", "after-payment"),
            _IS_PAID,
            "systemctl restart laari",
            "curl -fsS --retry 60 --retry-delay 1 --retry-all-errors http://127.0.0.1:8000/readyz",
            _IS_PAID,
            "ls /var/backups/laari/*/",
        ]
    )
    (machine / "root/page.sh").write_text(script)
    said = inside(
        machine,
        'chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin '
        f"PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels PUBLIC_HOST={HOST} ORIGIN=https://{HOST} "
        "AT=/root/laari TRUST= AUTHORITY= CUSTOMER=/root/customer.py bash /root/page.sh",
    )
    assert re.search(r"^paid$", said, re.M), said


# The machine trusts the authority of the stand-in for a public one.
_TRUSTED_CADDY = """systemctl restart caddy
AUTHORITIES=/var/lib/caddy/.local/share/caddy/pki/authorities/local
for _ in $(seq 100); do [ -e $AUTHORITIES/root.crt ] && break; sleep 0.1; done
cp $AUTHORITIES/root.crt /usr/local/share/ca-certificates/
update-ca-certificates"""


def _source_archive(place: Path) -> list[Path]:
    hook = f"from setuptools import build_meta; build_meta.build_sdist({str(place)!r})"
    command(str(ROOT / ".venv/bin/python"), "-c", hook)
    return [*place.glob("laari-*.tar.gz")]


def test_the_unit_is_hardened() -> None:
    said = command(
        "systemd-analyze",
        "security",
        "--offline=yes",
        "--no-pager",
        str(PACKAGING / "laari.service"),
    )
    found = re.search(r"exposure level for laari.service: ([\d.]+)", said)
    assert found is not None
    assert float(found[1]) <= MOST_EXPOSURE


@pytest.mark.parametrize("name", ["compose.yaml", "compose.production.yaml"])
def test_the_compose_files_are_valid(name: str, tmp_path: Path) -> None:
    secrets = {"PUBLIC_HOST": HOST, "LAARI_MASTER_KEY": "a", "POSTGRES_PASSWORD": "b"}
    said = command("docker-compose", "-f", str(ROOT / name), "config", environment=secrets)
    targets = set(re.findall(r"target: (\S*laari\S*)$", said, re.M)) - {"/var/lib/laari"}
    stages = re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "Containerfile").read_text(), re.M)
    assert targets
    assert targets <= {*stages}


def test_nginx_accepts_the_configuration(tmp_path: Path) -> None:
    command(
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        f"/CN={HOST}",
        "-keyout",
        str(tmp_path / "privkey.pem"),
        "-out",
        str(tmp_path / "fullchain.pem"),
    )
    site = (PACKAGING / "nginx.conf").read_text().replace(f"/etc/ssl/{HOST}", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{\n{site}\n}}\n")
    command(
        "nginx",
        "-t",
        "-c",
        str(tmp_path / "nginx.conf"),
        "-g",
        f"pid {tmp_path}/pid; error_log stderr;",
    )

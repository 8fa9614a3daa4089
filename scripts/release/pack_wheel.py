#!/usr/bin/python3
"""Makes the wheel with the program inside, so that `pip install` puts `tracer` beside Python: what setuptools builds of
python/, with the program as one of its scripts, for Linux on one architecture. The same input gives the same bytes.

    pack_wheel.py TRACER LICENSES OUT amd64|arm64
"""
import base64
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import zipfile

# The program is static: it runs with any C library, old or new, GNU's or musl's.
PLATFORMS = {
    arch: tuple(f"{system}_{machine}" for system in ("manylinux2014", "manylinux_2_17", "musllinux_1_1"))
    for arch, machine in (("amd64", "x86_64"), ("arm64", "aarch64"))
}


def built(version):
    """Returns the members of the wheel that setuptools builds, by name."""
    from setuptools import build_meta  # imported here: it reads sys.argv as its own

    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work, "source")
        shutil.copytree("python", source, ignore=shutil.ignore_patterns("node_modules", "build", "*.egg-info"))
        settings = source / "pyproject.toml"
        line = re.compile(r'^version = ".*"$', re.M)
        settings.write_text(line.sub(f'version = "{version}"', settings.read_text(), count=1))
        with inside(source), contextlib.redirect_stdout(sys.stderr):
            name = build_meta.build_wheel(work)
        with zipfile.ZipFile(pathlib.Path(work, name)) as wheel:
            return {member.filename: wheel.read(member) for member in wheel.infolist()}


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def hashed(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def with_program(members, version, tracer, licenses, platforms):
    info, scripts = f"ipytracer-{version}.dist-info/", f"ipytracer-{version}.data/scripts/"
    if info + "WHEEL" not in members:
        raise SystemExit(f"pack_wheel.py: setuptools has built something else: {sorted(members)[:5]}")
    members = {name: content for name, content in members.items() if name != info + "RECORD"}
    members[scripts + "tracer"] = pathlib.Path(tracer).read_bytes()
    members[info + "licenses/THIRD-PARTY-LICENSES.txt"] = pathlib.Path(licenses).read_bytes()
    given = members[info + "WHEEL"].decode().splitlines()
    kept = [line for line in given if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    lines = kept + ["Root-Is-Purelib: false"] + [f"Tag: py3-none-{one}" for one in platforms]
    members[info + "WHEEL"] = ("\n".join(lines) + "\n").encode()
    rows = [f"{quoted(name)},{hashed(content)},{len(content)}" for name, content in sorted(members.items())]
    members[info + "RECORD"] = ("\n".join([*rows, f"{info}RECORD,,"]) + "\n").encode()
    return members


def quoted(name):
    return f'"{name}"' if "," in name else name


def write(members, path):
    """Writes a wheel: its own description comes last, as the format asks."""
    date = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(members, key=lambda name: (".dist-info/" in name, name.endswith("RECORD"), name)):
            member = zipfile.ZipInfo(name, date)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            mode = 0o755 if ".data/scripts/" in name else 0o644
            member.external_attr = (0o100000 | mode) << 16
            wheel.writestr(member, members[name])


def main(tracer, licenses, out, arch):
    version, platforms = os.environ["VERSION"], PLATFORMS[arch]
    members = with_program(built(version), version, tracer, licenses, platforms)
    write(members, pathlib.Path(out, f"ipytracer-{version}-py3-none-{'.'.join(platforms)}.whl"))


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[4] not in PLATFORMS:
        sys.exit(__doc__)
    arguments, sys.argv[1:] = sys.argv[1:], []
    main(*(os.path.abspath(one) for one in arguments[:3]), arguments[3])

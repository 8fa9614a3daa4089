#!/usr/bin/python3
"""Prints the bill of materials of a release (CycloneDX 1.6): the Go modules of the program and of the one that it
carries, Go's standard library, and the libraries in the page and in JupyterLab's extension. Their licences go into a
file.

    materials.py --licenses FILE
"""
import argparse
import base64
import json
import os
import pathlib
import subprocess
import time
import uuid

PROGRAMS = (("0", "./cmd/tracer"), ("1", "./internal/gpu/nvidia"))  # whether it is built with cgo; with the agent
RULE = "=" * 80


def go(*arguments, **environment):
    return output([os.environ.get("GO", "go"), *arguments], {**os.environ, **environment})


def output(command, environment=None):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def documents(text):
    """Returns the JSON documents that follow each other in a text."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        yield document
        while at < len(text) and text[at].isspace():
            at += 1


def modules():
    """Returns the modules that are linked into the programs, by path."""
    found = {}
    for cgo, package in PROGRAMS:
        listed = go("list", "-deps", "-tags", "osusergo,netgo,agent", "-json=Module", package, CGO_ENABLED=cgo)
        for one in documents(listed):
            module = one.get("Module", {})
            if module and not module.get("Main"):
                found[module["Path"]] = module
    return [found[path] for path in sorted(found)]


def texts(folder):
    """Returns the licences and notices of a module."""
    names = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
    files = sorted(p for p in pathlib.Path(folder).iterdir() if p.name.upper().startswith(names) and p.is_file())
    return "\n".join(p.read_text(errors="replace").strip() for p in files)


def go_components():
    """Returns (component, licence) of Go's library and of each module."""
    version = go("env", "GOVERSION").strip().removeprefix("go")
    yield component("golang", "std", version), texts(go("env", "GOROOT").strip())
    sums = {}
    for line in pathlib.Path("go.sum").read_text().splitlines():
        path, of, digest = line.split()
        sums[path, of] = base64.b64decode(digest.removeprefix("h1:")).hex()
    for module in modules():
        path, of = module["Path"], module["Version"]
        one = component("golang", path, of)
        one["hashes"] = [{"alg": "SHA-256", "content": sums[path, of]}]  # of the module's files, as go.sum has it
        licence = texts(module["Dir"])
        if not licence:
            raise SystemExit(f"materials.py: {path} {of} has no licence in {module['Dir']}")
        yield one, licence


def page_components():
    """Returns (component, licence) of each library in the program of the page."""
    parts = pathlib.Path("internal/report/html/page/dist/LICENSES.txt").read_text().split(RULE + "\n")[1:]
    for part in parts:
        head, _, licence = part.partition("\n")
        name, version, _ = head.rsplit(" ", 2)
        yield component("npm", name, version), licence.strip()


def lab_components():
    """Returns (component, licence) of each library in JupyterLab's extension."""
    listed = pathlib.Path("python/labextension/built/static/third-party-licenses.json").read_text()
    for one in json.loads(listed)["packages"]:
        yield component("npm", one["name"], one["versionInfo"]), one["extractedText"].strip()


def component(kind, name, version):
    group, _, short = name.rpartition("/") if kind == "npm" else ("", "", name)
    named = {"group": group, "name": short} if group else {"name": short}
    purl = f"pkg:{kind}/{name.replace('@', '%40')}@{version.replace('+', '%2B')}"
    return {"type": "library", "bom-ref": purl, **named, "version": version, "purl": purl}


def bill(components):
    version = os.environ["VERSION"]
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    product = {
        "type": "application", "bom-ref": f"pkg:generic/ipytracer@{version.replace('+', '%2B')}",
        "name": "ipytracer", "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}, {"license": {"id": "BSD-2-Clause"}}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, f"ipytracer {version} {made}")),
        "metadata": {"timestamp": made, "component": product},
        "components": components,
        "dependencies": [{"ref": product["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--licenses", metavar="FILE", required=True)
    to = parser.parse_args().licenses
    found = {}
    for one, licence in (*go_components(), *page_components(), *lab_components()):
        found.setdefault(one["bom-ref"], (one, licence))
    with open(to, "w", encoding="utf-8") as file:
        file.write("Libraries that ipytracer contains, and their licences.\n")
        for one, licence in found.values():
            name = "/".join(filter(None, (one.get("group"), one["name"])))
            file.write(f"\n{RULE}\n{name} {one['version']}\n\n{licence}\n")
    print(json.dumps(bill([one for one, _ in found.values()]), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Makes an image for containers, from scratch and without a daemon: one layer with the program and the files that it
reads. The archive is an OCI layout (containerd, podman) and has the list that `docker load` reads.

    pack_image.py TRACER LICENSES OUT ARCHITECTURE
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import time

OCI = "application/vnd.oci.image."
FILES = {
    "etc/passwd": b"root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n",
    "etc/group": b"root:x:0:\nnobody:x:65534:\n",
}
FOLDERS = {"root": 0o700, "tmp": 0o1777, "var/cache/ipytracer": 0o700}


def archive(files, folders=(), modes=()):
    """Returns a tar of files, by name, with their parent folders."""
    folders, modes = dict(folders), dict(modes)
    for name in [*files, *folders]:
        for parent in pathlib.PurePosixPath(name).parents:
            folders.setdefault(str(parent), 0o755)
    folders.pop(".", None)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted({*files, *folders}):
            member = tarfile.TarInfo(name)
            member.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
            if name in folders:
                member.type, member.mode = tarfile.DIRTYPE, folders[name]
                tar.addfile(member)
            else:
                member.size, member.mode = len(files[name]), modes.get(name, 0o644)
                tar.addfile(member, io.BytesIO(files[name]))
    return out.getvalue()


def layer(tracer, licenses):
    shared = "usr/share/doc/ipytracer/"
    files = {
        **FILES,
        "usr/bin/tracer": pathlib.Path(tracer).read_bytes(),
        shared + "THIRD-PARTY-LICENSES.txt": pathlib.Path(licenses).read_bytes(),
        **{shared + name: pathlib.Path(name).read_bytes() for name in ("LICENSE", "NOTICE")},
    }
    return archive(files, FOLDERS, {"usr/bin/tracer": 0o755})


class Blobs(dict):
    """The files of a layout, by name."""

    def add(self, content, kind):
        digest = hashlib.sha256(content).hexdigest()
        self[f"blobs/sha256/{digest}"] = content
        return {"mediaType": OCI + kind, "digest": f"sha256:{digest}", "size": len(content)}

    def add_json(self, document, kind):
        return self.add(json.dumps(document, sort_keys=True).encode(), kind)


def layout(content, version, arch):
    blobs, tag = Blobs(), version.replace("+", "-")
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    labels = {
        "org.opencontainers.image.title": "ipytracer", "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0 AND (GPL-2.0-only OR BSD-2-Clause)",
    }
    started = {
        "Entrypoint": ["/usr/bin/tracer"], "Env": ["PATH=/usr/bin", "HOME=/root"], "WorkingDir": "/", "Labels": labels,
    }
    config = blobs.add_json({
        "architecture": arch, "os": "linux", "created": created, "config": started,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]},
        "history": [{"created": created, "created_by": "scripts/release/pack_image.py"}],
    }, "config.v1+json")
    packed = blobs.add(gzip.compress(content, 9, mtime=0), "layer.v1.tar+gzip")
    manifest = blobs.add_json({
        "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": config, "layers": [packed],
        "annotations": labels,
    }, "manifest.v1+json")
    manifest["platform"] = {"architecture": arch, "os": "linux"}
    name = f"localhost/ipytracer:{tag}"
    manifest["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
    blobs["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    index = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [manifest]}
    blobs["index.json"] = json.dumps(index, sort_keys=True).encode()
    place = {one["digest"]: "blobs/" + one["digest"].replace(":", "/") for one in (config, packed)}
    docker = [{"Config": place[config["digest"]], "RepoTags": [name], "Layers": [place[packed["digest"]]]}]
    blobs["manifest.json"] = json.dumps(docker).encode()
    return blobs


def main(tracer, licenses, out, arch):
    version = os.environ["VERSION"]
    image = archive(layout(layer(tracer, licenses), version, arch))
    pathlib.Path(out, f"ipytracer-{version}-image-{arch}.tar").write_bytes(image)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])

"""Puts the companion where this interpreter finds it, or takes it away: `tracer notebook` runs it as the user who typed
that.

    python -c TEXT install|uninstall

The package comes as a zip file on standard input: files below ipytracer/, and JupyterLab's extension below
labextension/. What was done is one line of JSON: {"folder", "was", "lab"}, or {"error"}; lab is where the extension is,
"" where it could not be put anywhere.
"""

import base64
import contextlib
import hashlib
import io
import json
import os
import shutil
import site
import sys
import sysconfig
import tempfile
import zipfile

NAME = "ipytracer"
INSTALLER = "tracer"
_LAB = "labextension/"   # in the zip file


class Refused(Exception):
    """One sentence for the user."""


def folders():
    """Where packages of this interpreter may lie, the one for all users first."""
    found = [sysconfig.get_path("purelib")]
    if site.ENABLE_USER_SITE and sys.prefix == sys.base_prefix:
        found.append(site.getusersitepackages())
    return found


def lab_of(folder):
    """Where Jupyter looks for the extension, if packages are in that folder."""
    data = sysconfig.get_path("data") if folder == sysconfig.get_path("purelib") else site.getuserbase()
    return os.path.join(data, "share", "jupyter", "labextensions", NAME)


def version_of(package):
    """The version in a package's __init__.py."""
    for line in package.read(NAME + "/__init__.py").decode().splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise Refused("the package has no version")


def installed(folder):
    """What is known of the companion in a folder: its dist-info, and who put it there; None, None where it is not."""
    if not os.path.isdir(folder):
        return None, None
    for entry in sorted(os.listdir(folder)):
        if entry.startswith(NAME + "-") and entry.endswith(".dist-info"):
            try:
                with open(os.path.join(folder, entry, "INSTALLER")) as f:
                    return entry, f.read().strip()
            except OSError:
                return entry, "somebody else"
    return (None, "somebody else") if os.path.lexists(os.path.join(folder, NAME)) else (None, None)


def may_make(folder):
    """Whether files can be made in a folder, or in the first one above it that is there."""
    while not os.path.isdir(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return os.access(folder, os.W_OK | os.X_OK)


def remove(folder, info):
    """Takes the companion away that this script put into a folder."""
    if has_lab(folder, info):
        shutil.rmtree(lab_of(folder))
    shutil.rmtree(os.path.join(folder, NAME))
    shutil.rmtree(os.path.join(folder, info))


def has_lab(folder, info):
    """Whether the extension that is there was put there with it."""
    path = os.path.relpath(os.path.join(lab_of(folder), "package.json"), folder)
    try:
        with open(os.path.join(folder, info, "RECORD")) as f:
            return any(row.startswith(path + ",") for row in f) and os.path.isdir(lab_of(folder))
    except OSError:
        return False


def record(files):
    """The text of RECORD: path, hash and size of every file."""
    rows = []
    for path, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append("%s,sha256=%s,%d\n" % (path, digest, len(data)))
    return "".join(rows)


def install(package):
    version = version_of(package)
    found = [(folder, *installed(folder)) for folder in folders()]
    for folder, _, by in found:
        if by not in (None, INSTALLER):
            raise Refused(
                "%s has an %s that was installed by %s: take it away first, with %s -m pip uninstall %s"
                % (folder, NAME, by, sys.executable, NAME)
            )
    ours = [one for one in found if one[2] == INSTALLER]
    usable = [one for one in ours or found if may_make(one[0])]
    if not usable:
        raise Refused(
            "you may not make files in %s; make a virtual environment, and name its Python with --python"
            % " or ".join(f for f, _, _ in ours or found)
        )
    folder, info, _ = usable[0]
    prefix = "%s-%s.dist-info/" % (NAME, version)
    lab = lab_of(folder)
    if os.path.lexists(lab) and not (info and has_lab(folder, info)):
        raise Refused("%s is there, and was not put there by 'tracer notebook install': take it away first" % lab)
    files = {path: package.read(path) for path in package.namelist()}
    extension = {path[len(_LAB):]: files.pop(path) for path in list(files) if path.startswith(_LAB)}
    if not may_make(lab):
        extension, lab = {}, ""
    files[prefix + "METADATA"] = ("Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (NAME, version)).encode()
    files[prefix + "INSTALLER"] = (INSTALLER + "\n").encode()
    files[prefix + "WHEEL"] = b"Wheel-Version: 1.0\nGenerator: tracer\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[prefix + "entry_points.txt"] = b"[pytest11]\nipytracer = ipytracer.pytest_plugin\n"
    listed = dict(files, **{os.path.relpath(os.path.join(lab, path), folder): data for path, data in extension.items()})
    files[prefix + "RECORD"] = (record(listed) + prefix + "RECORD,,\n").encode()
    with laid_out(folder, files) as work:
        with laid_out(os.path.dirname(lab) if extension else folder, extension) as lab_work:
            if info:
                remove(folder, info)
            for entry in (NAME, prefix.rstrip("/")):
                os.rename(os.path.join(work, entry), os.path.join(folder, entry))
            if extension:
                os.mkdir(lab)
                for entry in os.listdir(lab_work):
                    os.rename(os.path.join(lab_work, entry), os.path.join(lab, entry))
    return {"folder": folder, "was": info, "version": version, "lab": lab}


@contextlib.contextmanager
def laid_out(beside, files):
    """A folder with these files, in the file system of another folder, which is made if it is not there."""
    os.makedirs(beside, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".ipytracer-", dir=beside) as work:
        for path, data in files.items():
            if path.startswith("/") or ".." in path.split("/"):
                raise Refused("the package is damaged")
            full = os.path.join(work, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "xb") as f:
                f.write(data)
        yield work


def uninstall(_):
    for folder in folders():
        info, by = installed(folder)
        if by == INSTALLER:
            remove(folder, info)
            return {"folder": folder, "was": info}
        if by:
            raise Refused("it was installed by %s: type %s -m pip uninstall %s" % (by, sys.executable, NAME))
    raise Refused("%s has no %s that 'tracer notebook install' has put there" % (sys.executable, NAME))


def main():
    try:
        if sys.version_info < (3, 9):
            raise Refused("Python %d.%d is too old: the companion needs 3.9" % sys.version_info[:2])
        package = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
        done = {"install": install, "uninstall": uninstall}[sys.argv[1]](package)
    except Refused as e:
        done = {"error": str(e)}
    except OSError as e:
        done = {"error": "%s: %s" % (e.filename, e.strerror) if e.strerror else str(e)}
    print(json.dumps(done))


if __name__ == "__main__":
    main()

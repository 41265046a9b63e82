# SPDX-License-Identifier: MIT
"""A file that replaces another has its access rights or fewer, never more. The oracle for ACLs is the kernel: the raw
extended attribute, and what other users may do."""
import ctypes
import os
import stat
import struct

import numpy as np
import pytest

from conftest import finish, in_release, same, slow
from output_loops import build_library, environment
from test_output import SUMS, good, job, mode, open_job, refused  # noqa: F401 (fixtures)

pytestmark = in_release("rights of files")

ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
ACL, DEFAULT_ACL = "system.posix_acl_access", "system.posix_acl_default"
NOBODY, OTHER, GROUP = 65534, 65533, 4242
UNKNOWN_ID = 0xffffffff
CAP_FOWNER, PR_CAPBSET_DROP = 3, 24


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp("filesystem"))


@pytest.fixture(params=["", "no_tmpfile"])
def less(request, library):
    """Returns the environment of a file system that lacks more words; without O_TMPFILE or not."""
    if not library:
        pytest.skip("no compiler")
    return lambda words="": environment(library, f"{request.param} {words}".strip())


def acl(user, group, mask, other, users=(), groups=()):
    """The extended attribute of an ACL; users and groups: (id, rights)."""
    entries = [(1, user, UNKNOWN_ID), *((2, rights, i) for i, rights in users), (4, group, UNKNOWN_ID),
               *((8, rights, i) for i, rights in groups), (0x10, mask, UNKNOWN_ID), (0x20, other, UNKNOWN_ID)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def set_attribute(path, name, value):
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        pytest.skip(f"the file system has no {name}: {error}")


def attribute(path, name):
    return os.getxattr(path, name) if name in os.listxattr(path) else None


def old(job, bits, user=None, group=None):
    """Makes the file that will be replaced."""
    job.write("out", "old")
    if user is not None:
        os.chown(job.path / "out", user, group)
    os.chmod(job.path / "out", bits)
    return job.path / "out"


def owner(path):
    st = os.stat(path)
    return st.st_uid, st.st_gid


# ---- ACLs -------------------------------------------------------------------------------------------------------------

EXTENDED = acl(6, 4, 6, 0, users=[(NOBODY, 6)], groups=[(GROUP, 2)])


def test_an_acl_is_kept(job, less):
    out = old(job, 0o640)
    set_attribute(out, ACL, EXTENDED)
    before = mode(out)
    good(job, "-f", "-o", "out", env=less())
    assert attribute(out, ACL) == EXTENDED and mode(out) == before and same(job.load("out"), SUMS)


def test_where_an_acl_cannot_be_set_the_owner_alone_keeps_rights(job, less):
    out = old(job, 0o640)
    set_attribute(out, ACL, EXTENDED)
    good(job, "-f", "-o", "out", env=less("no_acl"))
    assert attribute(out, ACL) is None and mode(out) == 0o600


@pytest.mark.parametrize("bits", [0o640, 0o600, 0o666])
def test_the_default_acl_of_the_folder_gives_a_replaced_file_nothing(job, less, bits):
    out = old(job, bits)
    set_attribute(job.path, DEFAULT_ACL, acl(7, 7, 7, 7, users=[(NOBODY, 7)]))
    process, write = slow(job, "-f", "-o", "out", env=less())
    for name in job.names():
        if name.startswith(".out."):
            assert mode(job.path / name) & ~bits == 0  # its group bits are the mask of an ACL, should there be one
    assert finish(process, write) == (0, "")
    assert attribute(out, ACL) is None and mode(out) == bits


def test_the_default_acl_of_the_folder_governs_a_new_file(job, less):
    set_attribute(job.path, DEFAULT_ACL, acl(7, 5, 7, 0, users=[(NOBODY, 6)]))
    job.write("reference", "made by open()")
    good(job, "-o", "out", env=less())
    assert attribute(job.path / "out", ACL) == attribute(job.path / "reference", ACL) is not None
    assert mode(job.path / "out") == mode(job.path / "reference")


@ROOT
def test_an_acl_without_its_group_becomes_the_owners_rights(open_job):
    out = old(open_job, 0o640, NOBODY, GROUP)
    set_attribute(out, ACL, EXTENDED)
    os.chown(open_job.path, NOBODY, NOBODY)
    assert open_job.run_as_nobody("prefix", "in.npy", "-f", "-o", "out") == (0, "")
    assert attribute(out, ACL) is None and mode(out) == 0o600 and owner(out) == (NOBODY, NOBODY)


# ---- owner and group --------------------------------------------------------------------------------------------------


@ROOT
@pytest.mark.parametrize("bits, narrowed", [(0o660, 0o600), (0o664, 0o644), (0o646, 0o644), (0o604, 0o600),
                                            (0o666, 0o666), (0o640, 0o600)])
def test_a_group_that_cannot_be_kept(open_job, bits, narrowed):
    out = old(open_job, bits, NOBODY, GROUP)
    os.chown(open_job.path, NOBODY, NOBODY)
    assert open_job.run_as_nobody("prefix", "in.npy", "-f", "-o", "out") == (0, "")
    assert mode(out) == narrowed and owner(out) == (NOBODY, NOBODY) and same(open_job.load("out"), SUMS)


@ROOT
@pytest.mark.parametrize("bits, narrowed", [(0o664, 0o664), (0o466, 0o444), (0o620, 0o600)])
def test_an_owner_that_cannot_be_kept(open_job, bits, narrowed):
    """0620: it cannot be read, so that its ACL is not known."""
    out = old(open_job, bits, OTHER, NOBODY)
    os.chown(open_job.path, NOBODY, NOBODY)
    assert open_job.run_as_nobody("prefix", "in.npy", "-f", "-o", "out") == (0, "")
    assert mode(out) == narrowed and owner(out) == (NOBODY, NOBODY)


@ROOT
def test_root_keeps_owner_group_and_acl(job, less):
    out = old(job, 0o640, NOBODY, GROUP)
    set_attribute(out, ACL, EXTENDED)
    good(job, "-f", "-o", "out", env=less())
    assert owner(out) == (NOBODY, GROUP) and attribute(out, ACL) == EXTENDED


def without_fowner():
    """To be called in a new process: root, who may not act as the owner of all files."""
    assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_FOWNER, 0, 0, 0) == 0


@ROOT
@pytest.mark.parametrize("bits", [0o640, 0o444])
def test_root_without_cap_fowner(job, less, bits):
    out = old(job, bits, NOBODY, GROUP)
    good(job, "-f", "-o", "out", env=less(), preexec_fn=without_fowner)
    assert owner(out) == (NOBODY, GROUP) and mode(out) == bits and job.names() == ["in.npy", "out"]
    os.chmod(job.path, 0o1777)
    os.chown(job.path, OTHER, OTHER)
    refused(job, 3, "out: cannot replace: it is another user's file in a sticky folder", "-f", "-o", "out", env=less(),
            preexec_fn=without_fowner)


# ---- chmod, attributes ------------------------------------------------------------------------------------------------


def test_a_refused_chmod(job, less):
    """The new file begins with 0600: narrower than 0644, wider than 0400."""
    out = old(job, 0o644)
    good(job, "-f", "-o", "out", env=less("no_chmod"))
    assert mode(out) == 0o600 and job.names() == ["in.npy", "out"]
    old(job, 0o400)
    refused(job, 3, "out: cannot replace: the new file cannot get the access rights of the old one: Operation not permitted",
            "-f", "-o", "out", env=less("no_chmod"))


def test_user_attributes_are_kept(job, less):
    out = old(job, 0o640)
    set_attribute(out, "user.origin", b"here")
    set_attribute(out, "user.empty", b"")
    good(job, "-f", "-o", "out", env=less())
    assert os.getxattr(out, "user.origin") == b"here" and os.getxattr(out, "user.empty") == b""


@ROOT
def test_capabilities_are_not_kept(job):
    out = old(job, 0o755)
    set_attribute(out, "security.capability", bytes.fromhex("0100000200040000000000000000000000000000"))
    good(job, "-f", "-o", "out")
    assert attribute(out, "security.capability") is None


@ROOT
def test_a_folder_that_cannot_be_listed(open_job):
    """It can be written to, but what killed runs left in it is not found."""
    open_job.write(".out.abcdef.scan-tmp", "half a result")
    os.chmod(open_job.path, 0o733)
    assert open_job.run_as_nobody("prefix", "in.npy", "-o", "out") == (0, "")
    assert open_job.run_as_nobody("prefix", "in.npy", "-f", "-o", "out") == (0, "")
    assert same(open_job.load("out"), SUMS) and open_job.names() == [".out.abcdef.scan-tmp", "in.npy", "out"]


# ---- changes while a run is at work -----------------------------------------------------------------------------------


def test_rights_withdrawn_meanwhile_stay_withdrawn(job, less):
    out = old(job, 0o666)
    process, write = slow(job, "-f", "-o", "out", env=less())
    os.chmod(out, 0o600)
    assert finish(process, write) == (0, "")
    assert mode(out) == 0o600 and job.names() == ["in.npy", "out"]


def test_an_acl_set_meanwhile_is_kept(job, less):
    out = old(job, 0o640)
    process, write = slow(job, "-f", "-o", "out", env=less())
    set_attribute(out, ACL, EXTENDED)
    assert finish(process, write) == (0, "")
    assert attribute(out, ACL) == EXTENDED


def test_a_secret_file_that_appears_meanwhile_is_replaced_by_a_secret_one(job, less):
    process, write = slow(job, "-f", "-o", "out", env=less())
    out = old(job, 0o600)
    assert finish(process, write) == (0, "")
    assert mode(out) == 0o600 and job.read("out") == np.zeros(1000, "u8").tobytes()
    assert stat.S_ISREG(os.stat(out).st_mode) and job.names() == ["in.npy", "out"]

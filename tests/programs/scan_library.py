# SPDX-License-Identifier: MIT
"""libscan.so through ctypes: histogram, equalize and clahe on NumPy arrays."""
import ctypes
import os
import pathlib

import numpy as np

U8, U16 = 1, 3
LIKES = {"opencv": 0, "pillow": 1, "imagemagick": 2, "vips": 3, "skimage": 4}
COLORS = {"auto": 0, "luma": 1, "channels": 2}


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("backend", ctypes.c_int), ("device", ctypes.c_int32),
                ("threads", ctypes.c_uint32), ("stream", ctypes.c_void_p), ("alloc", ctypes.c_void_p),
                ("free", ctypes.c_void_p), ("user", ctypes.c_void_p), ("detail", ctypes.c_char_p),
                ("detail_bytes", ctypes.c_size_t)]


class HistogramDesc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_int), ("channels", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("mask", ctypes.c_void_p), ("n_device", ctypes.c_void_p)]


class EqualizeDesc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_int), ("channels", ctypes.c_uint32),
                ("like", ctypes.c_int), ("color", ctypes.c_int), ("tiles_x", ctypes.c_uint32),
                ("tiles_y", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("clip", ctypes.c_double),
                ("mask", ctypes.c_void_p)]


def library_path():
    folder = os.environ.get("SCAN_BIN", pathlib.Path(__file__).resolve().parents[2] / "build/bin")
    return pathlib.Path(folder).parent / "lib" / "libscan.so"


def pointer(array):
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


class Library:
    """One context. Images are (height, width) or (height, width, channels) arrays of uint8 or uint16."""

    def __init__(self, threads=2):
        self.so = ctypes.CDLL(str(library_path()))
        self.so.scan_ctx_detail.restype = ctypes.c_char_p
        self.so.scan_ctx_detail.argtypes = [ctypes.c_void_p]
        self.context = ctypes.c_void_p()
        options = Options(struct_size=ctypes.sizeof(Options), threads=threads)
        assert self.so.scan_ctx_create(ctypes.byref(self.context), ctypes.byref(options)) == 0

    def close(self):
        self.so.scan_ctx_destroy(self.context)

    def check(self, status):
        assert status == 0, (status, self.so.scan_ctx_detail(self.context))

    @staticmethod
    def describe(image):
        image = np.ascontiguousarray(image)
        assert image.dtype in (np.uint8, np.uint16)
        return image, U8 if image.dtype == np.uint8 else U16, 1 if image.ndim == 2 else image.shape[2]

    def histogram(self, image, mask=None):
        image, kind, channels = self.describe(image)
        bins = np.empty((channels, 256 if kind == U8 else 65536), np.uint64)
        desc = HistogramDesc(ctypes.sizeof(HistogramDesc), kind, channels, 0, pointer(mask), None)
        self.check(self.so.scan_histogram(self.context, ctypes.byref(desc), pointer(image), pointer(bins),
                                          ctypes.c_size_t(image.size // channels)))
        return bins

    def equalize(self, image, like="opencv", color="auto", mask=None, out=None):
        image, kind, channels = self.describe(image)
        out = np.empty_like(image) if out is None else out
        desc = EqualizeDesc(ctypes.sizeof(EqualizeDesc), kind, channels, LIKES[like], COLORS[color], 0, 0, 0, 0.0,
                            pointer(mask))
        self.check(self.so.scan_equalize(self.context, ctypes.byref(desc), pointer(image), pointer(out), None,
                                         ctypes.c_size_t(image.size // channels)))
        return out

    def clahe(self, image, clip=2.0, tiles=(8, 8), color="auto", out=None):
        image, kind, channels = self.describe(image)
        out = np.empty_like(image) if out is None else out
        desc = EqualizeDesc(ctypes.sizeof(EqualizeDesc), kind, channels, 0, COLORS[color], tiles[0], tiles[1], 0, clip,
                            None)
        self.check(self.so.scan_clahe(self.context, ctypes.byref(desc), pointer(image), pointer(out),
                                      ctypes.c_size_t(image.shape[1]), ctypes.c_size_t(image.shape[0])))
        return out

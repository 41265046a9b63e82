# SPDX-License-Identifier: MIT
"""Equalization in NumPy, by the formulas of the documentation. Images are height x width, or with 2, 3 or 4 channels."""
import numpy as np

F32 = np.float32


def table(like, samples, mask=None, largest=None):
    """The look-up table of one channel of uint8 or uint16 samples."""
    top = np.iinfo(samples.dtype).max
    counted = samples[mask != 0] if mask is not None else samples.ravel()
    identity = np.arange(top + 1)
    if counted.size == 0:
        return identity.astype(samples.dtype)
    h = np.bincount(counted, minlength=top + 1).astype(np.int64)
    c, total = h.cumsum(), int(h.sum())
    used = np.flatnonzero(h)
    if like == "opencv":
        first = used[0]
        if h[first] == total:
            out = identity
        else:
            scale = F32(top) / F32(total - h[first])
            out = np.minimum(np.rint((c - h[first]).astype(F32) * scale), top).astype(np.int64)
            out[:first + 1] = 0
    elif like == "pillow":
        step = int(total - h[used[-1]]) // top
        out = identity if len(used) == 1 or step == 0 else np.minimum(top, (step // 2 + c - h) // step)
    elif like == "skimage":
        out = np.rint(top * (c / total)).astype(np.int64)
    elif like == "vips":
        largest = top if top == 255 else (int(counted.max()) if largest is None else largest)
        out = np.minimum(np.floor(F32(largest / total) * c.astype(F32)), top).astype(np.int64)
    elif like == "imagemagick":
        out = magick_table(h, c) if top == 65535 else None
        if out is None:
            wide = np.zeros(65536, np.int64)
            wide[::257] = h
            out = magick_table(wide, wide.cumsum())[::257] // 257
    return out.astype(samples.dtype)


def magick_table(h, c):
    if c[-1] == h[0]:
        return np.arange(65536)
    return np.floor(65535.0 * (c - h[0]) / float(c[-1] - h[0]) + 0.5).astype(np.int64)


def down(values):
    return (values + 8192) >> 14


def luma(rgb):
    r, g, b = (rgb[..., k].astype(np.int64) for k in range(3))
    return down(4899 * r + 9617 * g + 1868 * b)


def with_luma(rgb, y_new):
    """rgb with its luma (OpenCV's YCrCb) replaced."""
    top = np.iinfo(rgb.dtype).max
    half = (top + 1) // 2
    r, _, b = (rgb[..., k].astype(np.int64) for k in range(3))
    y = luma(rgb)
    cr = np.clip(down(11682 * (r - y)) + half, 0, top) - half
    cb = np.clip(down(9241 * (b - y)) + half, 0, top) - half
    y = y_new.astype(np.int64)
    out = np.stack([y + down(22987 * cr), y + down(-11698 * cr - 5636 * cb), y + down(29049 * cb)], axis=-1)
    return np.clip(out, 0, top).astype(rgb.dtype)


def equalized(image, like="opencv", color=None, mask=None):
    out = image.copy()
    if image.ndim == 2:
        return table(like, image, mask)[image]
    color_channels = 3 if image.shape[2] >= 3 else 1
    by_channels = color == "channels" or (color is None and like in ("pillow", "vips"))
    counted = image[mask != 0] if mask is not None else image
    largest = int(counted.max()) if counted.size else 0
    if color_channels == 1 or by_channels:
        for c in range(color_channels):
            out[..., c] = table(like, np.ascontiguousarray(image[..., c]), mask, largest)[image[..., c]]
        return out
    rgb = image[..., :3]
    if like == "imagemagick":
        scale = 257 if image.dtype == np.uint8 else 1
        wide = rgb.astype(np.float64) * scale
        level = np.minimum(0.212656 * wide[..., 0] + 0.715158 * wide[..., 1] + 0.072186 * wide[..., 2] + 0.5,
                           65535).astype(np.uint16)
        out[..., :3] = table(like, level, mask)[rgb.astype(np.int64) * scale] // scale
        return out
    y = luma(rgb).astype(image.dtype)
    out[..., :3] = with_luma(rgb, table(like, y, mask)[y])
    return out

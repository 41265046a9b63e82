/* SPDX-License-Identifier: MIT
 *
 * Image formats: which one a name asks for, what each can hold, and its writer.
 */
#include "save.h"

#include <string.h>
#include <strings.h>

#include "apps/support/die.h"
#include "encode.h"
#include "pnm.h"

bool image_format_of_name(const char *name, uint32_t channels, image_format *format, image_error *error) {
    static const struct {
        const char *extension;
        image_format format;
    } known[] = {{".png", IMAGE_PNG}, {".jpg", IMAGE_JPEG}, {".jpeg", IMAGE_JPEG},
                 {".pgm", IMAGE_PGM}, {".ppm", IMAGE_PPM},  {".pnm", IMAGE_NONE}};
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    for (size_t k = 0; dot && k < sizeof known / sizeof known[0]; k++)
        if (strcasecmp(dot, known[k].extension) == 0) {
            *format = known[k].format ? known[k].format : channels <= 2 ? IMAGE_PGM : IMAGE_PPM;
            return true;
        }
    return image_fail(error, EXIT_USAGE, "%s: the extension must be .png, .jpg, .jpeg, .pgm, .ppm or .pnm", name);
}

bool image_format_holds(const char *name, image_format format, const image_header *header, image_error *error) {
    const char *kind = image_format_name(format);
    if (header->channels % 2 == 0 && format != IMAGE_PNG)
        return image_fail(error, EXIT_USAGE, "%s: %s cannot hold the alpha channel of this image; write PNG", name,
                          kind);
    if (format == IMAGE_JPEG && header->depth == 16)
        return image_fail(error, EXIT_USAGE, "%s: JPEG cannot hold the 16-bit samples of this image; write PNG or PGM",
                          name);
    if (format == IMAGE_JPEG && (header->width > 65535 || header->height > 65535))
        return image_fail(error, EXIT_USAGE, "%s: JPEG cannot hold %u x %u pixels", name, header->width,
                          header->height);
    if ((format == IMAGE_PGM) != (header->channels == 1) && format != IMAGE_PNG && format != IMAGE_JPEG)
        return image_fail(error, EXIT_USAGE, "%s: %s cannot hold this image, which is %s", name, kind,
                          header->channels == 1 ? "grey" : "RGB");
    return true;
}

bool image_encode(const char *name, image_format format, const image_header *header, const void *pixels,
                  const image_profile *profile, unsigned quality, image_file *file, image_error *error) {
    switch (format) {
    case IMAGE_PNG: return png_write(name, header, pixels, profile, file, error);
    case IMAGE_JPEG: return jpeg_write(name, header, pixels, profile, quality, file, error);
    case IMAGE_PGM:
    case IMAGE_PPM: return pnm_write(name, header, pixels, file, error);
    case IMAGE_NONE: break;
    }
    return image_fail(error, EXIT_USAGE, "%s: no image format", name);
}

/* Reading of bundles below kernels and programs: what the Python runtime reads them by
 * (kgen_runtime/bundle.py). No other program may use it: it changes without notice. */
#ifndef KGEN_READER_H
#define KGEN_READER_H

#include "kgen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Open a bundle of a path, or of bytes that the caller keeps until kgen_close, and check all that it
 * says of itself; no kernel is chosen or loaded. `name` is for messages; NULL: the path. Without
 * `maps` files are read into memory. */
KGEN_API kgen_status kgen_read(const char *path, const void *data, size_t nbytes, const char *name,
                               int maps, kgen_bundle **bundle);

/* The text of the manifest, which is checked. */
KGEN_API const char *kgen_manifest_text(const kgen_bundle *bundle, size_t *nbytes);

/* The bytes of a file that the manifest names, until kgen_close. Their number is checked, and their
 * digest unless it is NULL. A file of weights may be beside the bundle. */
KGEN_API kgen_status kgen_file_data(kgen_bundle *bundle, const char *file, int64_t nbytes,
                                    const char *sha256, int may_be_beside, const void **data);

/* Check the digest of a copy of such a file, and the file's checksum if it is in the archive. What is
 * checked is what the caller has, whatever becomes of the file. */
KGEN_API kgen_status kgen_copy_check(kgen_bundle *bundle, const char *file, const void *copy,
                                     int64_t nbytes, const char *sha256);

/* Check a manifest that is to be written. */
KGEN_API kgen_status kgen_manifest_check(const char *text, size_t nbytes);

#ifdef __cplusplus
}
#endif

#endif

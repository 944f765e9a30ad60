/* Functions that read the manifest and the files of a bundle, for the Python runtime
 * (kgen_runtime/bundle.py). No other program may use them: they change without notice. */
#ifndef KGEN_READER_H
#define KGEN_READER_H

#include "kgen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Open a bundle from a path, or from bytes that the caller keeps until kgen_close. Check its
 * archive and its manifest; select and load no kernel. `name` is used in messages (NULL: the
 * path). If `maps` is 0, files are read into memory instead of mapped. */
KGEN_API kgen_status kgen_read(const char *path, const void *data, size_t nbytes, const char *name,
                               int maps, kgen_bundle **bundle);

/* Return the text of the manifest, which has been checked. */
KGEN_API const char *kgen_manifest_text(const kgen_bundle *bundle, size_t *nbytes);

/* Get the bytes of a file that the manifest names, valid until kgen_close. Their number is
 * checked, and their digest unless `sha256` is NULL. If `may_be_beside` is not 0, the file may be
 * beside the bundle. */
KGEN_API kgen_status kgen_file_data(kgen_bundle *bundle, const char *file, int64_t nbytes,
                                    const char *sha256, int may_be_beside, const void **data);

/* Check the digest of a copy of a file, and the file's checksum if it is in the archive. The copy
 * is checked because the file may change later. */
KGEN_API kgen_status kgen_copy_check(kgen_bundle *bundle, const char *file, const void *copy,
                                     int64_t nbytes, const char *sha256);

/* Check a manifest before it is written. */
KGEN_API kgen_status kgen_manifest_check(const char *text, size_t nbytes);

#ifdef __cplusplus
}
#endif

#endif

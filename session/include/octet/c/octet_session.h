// C API of inference sessions, for C99 and for bindings of other languages.
//
//   octet_session* session;
//   if (octet_session_load("model.octet", NULL, &session) != OCTET_OK) {
//     fprintf(stderr, "%s\n", octet_last_error());
//     return 1;
//   }
//   octet_buffer in = {image, sizeof image}, out = {scores, sizeof scores};
//   octet_session_run_into(session, 1, &in, 1, &out, 1);
//   octet_session_free(session);
//
// Functions return a status and set no output on failure. No exception leaves
// the library. Handles are opaque, structures begin with their size, and values
// are only appended: programs keep working with later versions of the library
// of the same soname.
//
// Threads: a session may be used by several threads at a time. Loading and
// freeing are thread-safe for distinct sessions. Error texts belong to the
// calling thread. After fork() only the parent may use the library.
#ifndef OCTET_C_OCTET_SESSION_H_
#define OCTET_C_OCTET_SESSION_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define OCTET_API __attribute__((visibility("default")))
#else
#define OCTET_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Version of this header; octet_api_version() is that of the library.
#define OCTET_API_VERSION 1

/// Result of a function: OCTET_OK or OCTET_ERROR_*. Later versions may add
/// values.
typedef int32_t octet_status;
#define OCTET_OK 0                   ///< success
#define OCTET_ERROR_SHAPE 1          ///< a buffer of another size
#define OCTET_ERROR_VALUE 2          ///< an invalid argument, or NaN in inputs
#define OCTET_ERROR_NOT_FOUND 3      ///< an index or name that does not exist
#define OCTET_ERROR_UNSUPPORTED 4    ///< a newer file, an unknown layer class
#define OCTET_ERROR_FORMAT 5         ///< a damaged file, or no session file
#define OCTET_ERROR_IO 6             ///< a file that cannot be read
#define OCTET_ERROR_INTERNAL 7       ///< a defect of Octet
#define OCTET_ERROR_OUT_OF_MEMORY 8  ///< memory is exhausted

/// Element type of a tensor.
typedef int32_t octet_dtype;
#define OCTET_F32 0  ///< float

/// Largest number of dimensions.
#define OCTET_MAX_RANK 8

/// A loaded session.
typedef struct octet_session octet_session;
/// Outputs of octet_session_run().
typedef struct octet_result octet_result;

/// Options of octet_session_load(). Set `size`, and other fields to 0 for their
/// defaults.
typedef struct octet_session_options {
  size_t size;           ///< sizeof(octet_session_options)
  int64_t max_batch;     ///< maximum number of samples of a run; 0: no maximum
  int64_t memory_limit;  ///< bytes of activations of two samples; 0: no limit
  double time_limit;     ///< seconds of loading; 0: no limit
  int32_t threads;       ///< maximum number of threads of a run; 0: all
} octet_session_options;

/// Description of an input or output.
typedef struct octet_tensor_info {
  size_t size;                    ///< sizeof(octet_tensor_info), set by caller
  const char* name;               ///< valid until the session is freed
  octet_dtype dtype;              ///< OCTET_F32
  int32_t rank;                   ///< number of dimensions, with the batch
  int64_t shape[OCTET_MAX_RANK];  ///< batch first, as -1; channels last
  size_t sample_bytes;            ///< bytes of a single sample
} octet_tensor_info;

/// Memory of the caller: samples in row-major order, without gaps.
typedef struct octet_buffer {
  void* data;    ///< first element
  size_t bytes;  ///< size
} octet_buffer;

/// Returns the version of the library, "0.1.0".
OCTET_API const char* octet_version(void);
/// Returns OCTET_API_VERSION of the library.
OCTET_API int32_t octet_api_version(void);

/// Returns the text of the last error in this thread, with cause and hint; ""
/// if there was none. Valid until the next function fails in this thread.
OCTET_API const char* octet_last_error(void);
/// Returns its cause, for programs: "shape_mismatch", "checksum_mismatch", ...
OCTET_API const char* octet_last_error_code(void);

/// Loads a session file (octet convert MODEL -o model.octet). `options` may be
/// NULL.
OCTET_API octet_status octet_session_load(const char* path,
                                          const octet_session_options* options,
                                          octet_session** session);
/// Loads the contents of a session file, which only this call needs.
OCTET_API octet_status octet_session_load_bytes(
    const void* bytes, size_t count, const octet_session_options* options,
    octet_session** session);
/// Frees a session that no run uses. NULL has no effect.
OCTET_API void octet_session_free(octet_session* session);

/// Return the number of inputs and of outputs; 0 for NULL.
OCTET_API size_t octet_session_input_count(const octet_session* session);
OCTET_API size_t octet_session_output_count(const octet_session* session);
/// Describe an input or output.
OCTET_API octet_status octet_session_input(const octet_session* session,
                                           size_t index,
                                           octet_tensor_info* info);
OCTET_API octet_status octet_session_output(const octet_session* session,
                                            size_t index,
                                            octet_tensor_info* info);

/// Runs `samples` samples. Buffers are in the order of the model's inputs and
/// outputs and must have samples * sample_bytes bytes.
OCTET_API octet_status octet_session_run_into(
    const octet_session* session, int64_t samples, const octet_buffer* inputs,
    size_t input_count, const octet_buffer* outputs, size_t output_count);

/// The same, into memory of the library.
OCTET_API octet_status octet_session_run(const octet_session* session,
                                         int64_t samples,
                                         const octet_buffer* inputs,
                                         size_t input_count,
                                         octet_result** result);
/// Returns the elements of an output; {NULL, 0} for an index out of range.
/// Valid until the result is freed.
OCTET_API octet_buffer octet_result_output(const octet_result* result,
                                           size_t index);
/// Frees a result. NULL has no effect.
OCTET_API void octet_result_free(octet_result* result);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // OCTET_C_OCTET_SESSION_H_

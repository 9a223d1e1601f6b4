/* Runs a session file from C:
 *
 *   octet convert zoo:resnet8 -o resnet8.octet
 *   c_session resnet8.octet
 *
 * Prints the inputs, and for each output the values for an input of zeros. */
#include <stdio.h>
#include <stdlib.h>

#include <octet/c/octet_session.h>

/* Prints "input conv1: f32 [N,32,32,3]". */
static void print_tensor(const char* what, const octet_tensor_info* info) {
  int32_t i;
  printf("%s %s: f32 [N", what, info->name);
  for (i = 1; i < info->rank; ++i) printf(",%ld", (long)info->shape[i]);
  printf("]\n");
}

static int fail(void) {
  fprintf(stderr, "c_session: %s\n", octet_last_error());
  return EXIT_FAILURE;
}

/* Allocates zeros for one sample of each input. The caller frees them. */
static octet_buffer* zeros(const octet_session* session, size_t count) {
  octet_buffer* const buffers = calloc(count, sizeof(octet_buffer));
  octet_tensor_info info;
  size_t i;
  for (i = 0; buffers != NULL && i < count; ++i) {
    info.size = sizeof info;
    if (octet_session_input(session, i, &info) != OCTET_OK) return NULL;
    print_tensor("input", &info);
    buffers[i].data = calloc(1, info.sample_bytes);
    buffers[i].bytes = info.sample_bytes;
  }
  return buffers;
}

static int print_output(const octet_session* session,
                        const octet_result* result, size_t index) {
  const octet_buffer y = octet_result_output(result, index);
  const float* const values = y.data;
  octet_tensor_info info;
  size_t i;
  info.size = sizeof info;
  if (octet_session_output(session, index, &info) != OCTET_OK) return fail();
  print_tensor("output", &info);
  for (i = 0; i < y.bytes / sizeof(float) && i < 10; ++i) {
    printf("%s%.9g", i == 0 ? "" : " ", values[i]);
  }
  printf("\n");
  return EXIT_SUCCESS;
}

int main(int argc, char** argv) {
  octet_session* session = NULL;
  octet_result* result = NULL;
  octet_buffer* inputs;
  size_t count, i;
  int status = EXIT_SUCCESS;
  if (argc != 2) {
    fprintf(stderr, "usage: c_session MODEL.octet\n");
    return EXIT_FAILURE;
  }
  if (octet_session_load(argv[1], NULL, &session) != OCTET_OK) return fail();
  count = octet_session_input_count(session);
  inputs = zeros(session, count);
  if (inputs == NULL) return fail();
  if (octet_session_run(session, 1, inputs, count, &result) != OCTET_OK) {
    status = fail();
  }
  for (i = 0; status == EXIT_SUCCESS && result != NULL &&
              i < octet_session_output_count(session);
       ++i) {
    status = print_output(session, result, i);
  }
  for (i = 0; i < count; ++i) free(inputs[i].data);
  free(inputs);
  octet_result_free(result);
  octet_session_free(session);
  return status;
}

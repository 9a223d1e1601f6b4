// C functions that call CMSIS-NN. "@" stands for the prefix of names.
#pragma once

#include <string_view>

namespace octet::io::c {

inline constexpr std::string_view kCmsisLinear = R"(
/* A convolution or dense layer. */
typedef struct {
  cmsis_nn_dims x, filter, y;
  cmsis_nn_tile stride, padding, dilation;
  int32_t input_offset, output_offset;
  cmsis_nn_activation range;
  int32_t channel_multiplier; /* of depthwise convolutions */
  const int8_t* weights;
  const int32_t* bias;                    /* or null */
  const int32_t *multipliers, *shifts;    /* per channel */
} @_cmsis_linear;
)";

inline constexpr std::string_view kCmsisConv = R"(
/* Returns 0 if CMSIS-NN reports an error. */
static int @_cmsis_convolve(const @_cmsis_linear* p, const int8_t* x, int8_t* y,
                      void* scratch) {
  const cmsis_nn_conv_params params = {p->input_offset, p->output_offset,
                                       p->stride,       p->padding,
                                       p->dilation,     p->range};
  const cmsis_nn_per_channel_quant_params quant = {(int32_t*)p->multipliers,
                                                   (int32_t*)p->shifts};
  const cmsis_nn_dims bias = {1, 1, 1, p->y.c};
  const cmsis_nn_context context = {
      scratch, arm_convolve_wrapper_s8_get_buffer_size(&params, &p->x,
                                                       &p->filter, &p->y)};
  return context.size <= @_SCRATCH &&
         arm_convolve_wrapper_s8(&context, &params, &quant, &p->x, x,
                                 &p->filter, p->weights, &bias, p->bias, &p->y,
                                 y) == ARM_CMSIS_NN_SUCCESS;
}
)";

inline constexpr std::string_view kCmsisDepthwise = R"(
/* Returns 0 if CMSIS-NN reports an error. */
static int @_cmsis_depthwise(const @_cmsis_linear* p, const int8_t* x, int8_t* y,
                       void* scratch) {
  const cmsis_nn_dw_conv_params params = {
      p->input_offset, p->output_offset, p->channel_multiplier,
      p->stride,       p->padding,       p->dilation,
      p->range};
  const cmsis_nn_per_channel_quant_params quant = {(int32_t*)p->multipliers,
                                                   (int32_t*)p->shifts};
  const cmsis_nn_dims bias = {1, 1, 1, p->y.c};
  const cmsis_nn_context context = {
      scratch, arm_depthwise_conv_wrapper_s8_get_buffer_size(
                   &params, &p->x, &p->filter, &p->y)};
  return context.size <= @_SCRATCH &&
         arm_depthwise_conv_wrapper_s8(&context, &params, &quant, &p->x, x,
                                       &p->filter, p->weights, &bias, p->bias,
                                       &p->y, y) == ARM_CMSIS_NN_SUCCESS;
}
)";

// With Helium, the functions read sums of weights from the scratch memory.
inline constexpr std::string_view kCmsisDense = R"(
/* Returns 0 if CMSIS-NN reports an error. */
static int @_cmsis_dense(const @_cmsis_linear* p, const int8_t* x, int8_t* y,
                   void* scratch) {
  const cmsis_nn_fc_params params = {p->input_offset, 0, p->output_offset,
                                     p->range};
  const cmsis_nn_quant_params quant = {(int32_t*)p->multipliers,
                                       (int32_t*)p->shifts, 1};
  const cmsis_nn_dims bias = {1, 1, 1, p->y.c};
  const cmsis_nn_context context = {
      scratch, arm_fully_connected_s8_get_buffer_size(&p->filter)};
  if (context.size > @_SCRATCH) {
    return 0;
  }
  if (context.size > 0) {
    arm_vector_sum_s8((int32_t*)scratch, p->filter.n, p->y.c, p->weights,
                      p->input_offset, 0, p->bias);
  }
  return arm_fully_connected_wrapper_s8(&context, &params, &quant, &p->x, x,
                                        &p->filter, p->weights, &bias, p->bias,
                                        &p->y, y) == ARM_CMSIS_NN_SUCCESS;
}
)";

inline constexpr std::string_view kCmsisPool = R"(
typedef struct {
  cmsis_nn_dims x, filter, y;
  cmsis_nn_tile stride, padding;
} @_cmsis_pool;
)";

inline constexpr std::string_view kCmsisMaxPool = R"(
/* Returns 0 if CMSIS-NN reports an error. */
static int @_cmsis_max_pool(const @_cmsis_pool* p, const int8_t* x, int8_t* y,
                      void* scratch) {
  const cmsis_nn_pool_params params = {p->stride, p->padding, {-128, 127}};
  const cmsis_nn_context context = {scratch, 0};
  return arm_max_pool_s8(&context, &params, &p->x, x, &p->filter, &p->y, y) ==
         ARM_CMSIS_NN_SUCCESS;
}
)";

inline constexpr std::string_view kCmsisAveragePool = R"(
/* Returns 0 if CMSIS-NN reports an error. */
static int @_cmsis_average_pool(const @_cmsis_pool* p, const int8_t* x, int8_t* y,
                          void* scratch) {
  const cmsis_nn_pool_params params = {p->stride, p->padding, {-128, 127}};
  const cmsis_nn_context context = {
      scratch, arm_avgpool_s8_get_buffer_size(p->y.w, p->x.c)};
  return context.size <= @_SCRATCH &&
         arm_avgpool_s8(&context, &params, &p->x, x, &p->filter, &p->y, y) ==
             ARM_CMSIS_NN_SUCCESS;
}
)";

}  // namespace octet::io::c

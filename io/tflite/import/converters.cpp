// Operators and their converters.
#include <algorithm>
#include <iterator>

#include "importer.h"

namespace octet::io::tflite {
namespace {

struct ConverterRow {
  schema::Op op;
  Convert convert;
};
constexpr ConverterRow kConverters[] = {
    {schema::Op::ADD, convert_add},
    {schema::Op::AVERAGE_POOL_2D, convert_pool},
    {schema::Op::BATCH_MATMUL, convert_matmul},
    {schema::Op::CONCATENATION, convert_concatenation},
    {schema::Op::CONV_2D, convert_conv},
    {schema::Op::DEPTHWISE_CONV_2D, convert_depthwise},
    {schema::Op::DEQUANTIZE, convert_dequantize},
    {schema::Op::FULLY_CONNECTED, convert_fully_connected},
    {schema::Op::GATHER, convert_gather},
    {schema::Op::HARD_SWISH, convert_hard_swish},
    {schema::Op::LEAKY_RELU, convert_leaky_relu},
    {schema::Op::LOGISTIC, convert_logistic},
    {schema::Op::MAXIMUM, convert_maximum},
    {schema::Op::MAX_POOL_2D, convert_pool},
    {schema::Op::MEAN, convert_mean},
    {schema::Op::MINIMUM, convert_minimum},
    {schema::Op::MUL, convert_mul},
    {schema::Op::PAD, convert_pad},
    {schema::Op::PADV2, convert_padv2},
    {schema::Op::PRELU, convert_prelu},
    {schema::Op::QUANTIZE, convert_quantize},
    {schema::Op::RELU, convert_relu},
    {schema::Op::RELU6, convert_relu6},
    {schema::Op::RESHAPE, convert_reshape},
    {schema::Op::RESIZE_BILINEAR, convert_resize_bilinear},
    {schema::Op::RESIZE_NEAREST_NEIGHBOR, convert_resize_nearest},
    {schema::Op::SOFTMAX, convert_softmax},
    {schema::Op::SPLIT, convert_split},
    {schema::Op::STRIDED_SLICE, convert_strided_slice},
    {schema::Op::SUB, convert_sub},
    {schema::Op::SUM, convert_sum},
    {schema::Op::TANH, convert_tanh},
    {schema::Op::TRANSPOSE, convert_transpose},
    {schema::Op::TRANSPOSE_CONV, convert_transpose_conv},
};

}  // namespace

Convert find_converter(schema::Op op) {
  const auto* found = std::ranges::find(kConverters, op, &ConverterRow::op);
  return found == std::end(kConverters) ? nullptr : found->convert;
}

}  // namespace octet::io::tflite

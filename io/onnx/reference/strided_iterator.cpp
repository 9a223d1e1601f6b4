#include "strided_iterator.h"

#include <algorithm>

#include <fmt/format.h>

#include "onnx/graph/tensors.h"

namespace octet::io::run {

StridedIterator::StridedIterator(const Sizes& dims,
                                 const std::vector<Sizes>& strides)
    : dims_{1}, strides_(strides.size(), Sizes{0}) {
  // From the innermost dimension; the front entries grow.
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    bool alike = true;
    for (size_t t = 0; t < strides.size(); ++t) {
      alike = alike && strides[t][d] == strides_[t].front() * dims_.front();
    }
    if (dims_.front() == 1) {
      dims_.front() = dims[d];
      for (size_t t = 0; t < strides.size(); ++t) {
        strides_[t].front() = strides[t][d];
      }
    } else if (alike) {
      dims_.front() *= dims[d];
    } else {
      dims_.insert(dims_.begin(), dims[d]);
      for (size_t t = 0; t < strides.size(); ++t) {
        strides_[t].insert(strides_[t].begin(), strides[t][d]);
      }
    }
  }
  for (size_t d = 0; d + 1 < dims_.size(); ++d) rows_ *= dims_[d];
}

int64_t StridedIterator::offset(size_t t, int64_t row) const {
  int64_t offset = 0;
  for (size_t d = dims_.size() - 1; d-- > 0;) {
    offset += row % dims_[d] * strides_[t][d];
    row /= dims_[d];
  }
  return offset;
}

int64_t offset_at(int64_t index, const Sizes& dims, const Sizes& strides) {
  int64_t offset = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    offset += index % dims[d] * strides[d];
    index /= dims[d];
  }
  return offset;
}

Sizes strides_of(const Sizes& dims) {
  Sizes strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

Sizes broadcast_dims(const NodeContext& context,
                     const std::vector<Sizes>& shapes) {
  Sizes dims;
  for (const Sizes& own : shapes) {
    if (own.size() > dims.size()) {
      dims.insert(dims.begin(), own.size() - dims.size(), 1);
    }
    for (size_t i = 1; i <= own.size(); ++i) {
      int64_t& dim = dims[dims.size() - i];
      const int64_t size = own[own.size() - i];
      if (dim != size && dim != 1 && size != 1) {
        std::string text;
        for (const Sizes& shape : shapes) {
          text += (text.empty() ? "" : " and ") + dims_text(shape);
        }
        context.refuse("shapes do not broadcast: " + text);
      }
      if (dim == 1) dim = size;
    }
  }
  return dims;
}

Sizes broadcast_strides(const Sizes& own, const Sizes& dims) {
  const Sizes strides = strides_of(own);
  Sizes result(dims.size(), 0);
  const size_t skipped = dims.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d) {
    if (own[d] != 1) result[skipped + d] = strides[d];
  }
  return result;
}

void copy_strided(const NodeContext& context, const Tensor& x,
                  const Sizes& dims, const Sizes& strides, int64_t base,
                  Tensor& y) {
  if (y.size() == 0) return;
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const StridedIterator walk(dims, {strides});
    const T* from = x.data<T>().data() + base;
    T* to = y.data<T>().data();
    const int64_t step = walk.step(0);
    for (int64_t row = 0; row < walk.rows(); ++row) {
      const T* source = from + walk.offset(0, row);
      for (int64_t i = 0; i < walk.width(); ++i) *to++ = source[i * step];
    }
  });
}

Tensor strided_copy(const NodeContext& context, const Tensor& x,
                    const Sizes& dims, const Sizes& strides, int64_t base) {
  Tensor y = context.make(dims, x.dtype());
  copy_strided(context, x, dims, strides, base, y);
  return y;
}

}  // namespace octet::io::run

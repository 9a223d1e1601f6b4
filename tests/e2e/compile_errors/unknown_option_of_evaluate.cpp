// says: EvaluateOptions
#include <octet/octet.h>

double loss(const octet::Model& model, const octet::Dataset& data) {
  return octet::train::evaluate(model, data, {.batch = 5}).loss;
}

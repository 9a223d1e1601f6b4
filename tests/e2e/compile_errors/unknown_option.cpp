// says: FitOptions
#include <octet/octet.h>

void train(octet::Model& model, const octet::Dataset& data) {
  octet::train::fit(model, data, {.epoch = 5});
}

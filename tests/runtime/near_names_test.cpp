#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/detail/near_names.h>

#include "../facts.h"

namespace octet {
namespace {

TEST(NearNames, IgnoreCaseAndSeparators) {
  const std::vector<std::string> names = {"relu", "ReLU6", "BatchNormalization",
                                          "mobilenet_v1_025"};
  EXPECT_EQ(quoted_names(suggest_near("RELU", names)).at(0), "relu");
  EXPECT_EQ(suggest_near("batch_normalization", names),
            "; did you mean 'BatchNormalization'?");
  EXPECT_EQ(suggest_near("MobileNet-V1-025", names),
            "; did you mean 'mobilenet_v1_025'?");
  EXPECT_EQ(suggest_near("softmax", names), "");
}

TEST(NearNames, IncludeNamesThatBeginWithTheWord) {
  const std::vector<std::string> names = {"--validation", "--BatchNorm"};
  EXPECT_EQ(suggest_near("--val", names), "; did you mean '--validation'?");
  // Short beginnings are ambiguous.
  EXPECT_EQ(suggest_near("co", std::vector<std::string>{"convolution"}), "");
}

TEST(NearNames, PreferTheExactNameAmongEquals) {
  EXPECT_EQ(suggest_near("Relu", std::vector<std::string>{"RELU", "Relu "}),
            "; did you mean 'Relu ' or 'RELU'?");
}

}  // namespace
}  // namespace octet

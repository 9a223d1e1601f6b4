// Images listed in CSV files.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Images of one gray pixel: images/i.png has value 10 * i.
class ImageTables : public ::testing::Test {
 protected:
  ImageTables() {
    std::filesystem::create_directory(folder_ / "images");
    for (uint8_t i = 0; i < 6; ++i) {
      put(folder_ / fmt::format("images/{}.png", i),
          png_bytes({}, {static_cast<uint8_t>(10 * i)}));
    }
  }
  std::filesystem::path csv() const { return folder_ / "t.csv"; }
  ImageTable load(const std::string& text, ImageTableOptions options = {}) {
    put(csv(), text);
    options.images.size = 1;
    options.images.channels = 1;
    options.images.shuffle = options.images.seed != 0;
    return load_image_table(csv(), options);
  }
  /// Expects a message with the fact.
  template <class E = FormatError>
  std::string refusal(const std::string& text, const std::string& fact,
                      const ImageTableOptions& options = {}) {
    try {
      (void)load(text, options);
    } catch (const E& error) {
      EXPECT_THAT(error.message(), HasSubstr(fact));
      return error.code();
    }
    return "accepted";
  }
  static std::vector<int> grays(const Dataset& data) {
    std::vector<int> all;
    const Batch batch = data.batch(0, data.size());
    for (const float x : batch.input().f32()) {
      all.push_back(static_cast<int>(x * 255 + 0.5f));
    }
    return all;
  }
  static std::vector<int64_t> classes(const Dataset& data) {
    return elements<int64_t>(data.labels());
  }
  static std::vector<float> weights(const Dataset& data) {
    return values(data.batch(0, data.size()).weights);
  }

  TempFolder folder_;
  WarningCapture warnings_;
};

TEST_F(ImageTables, HaveLabelsWeightsAndParts) {
  const ImageTable table = load(
      "file,Label,sample_weight,split\n"
      "images/3.png,dog,1,train\n"
      "images/1.png,cat,0.5,Test\n"
      "images/2.png, cat ,0.25,training\n"
      "images/3.png,dog,0,train\n");
  EXPECT_THAT(table.classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(grays(table.train), ElementsAre(30, 20, 30));
  EXPECT_THAT(classes(table.train), ElementsAre(1, 0, 1));
  EXPECT_THAT(weights(table.train), ElementsAre(1, 0.25f, 0));
  ASSERT_TRUE(table.test);
  EXPECT_THAT(grays(*table.test), ElementsAre(10));
  EXPECT_THAT(weights(*table.test), ElementsAre(0.5f));
  EXPECT_EQ(table.files[1], (folder_ / "images/2.png").string());
  EXPECT_EQ(table.columns.path, "file");
  EXPECT_EQ(table.columns.label, "Label");
  EXPECT_THAT(warnings_.messages, IsEmpty());
}

TEST_F(ImageTables, HaveColumnsOfOtherNames) {
  const ImageTable table =
      load("file,image,kind,w\nimages/0.png,images/5.png,a,2\n",
           {.columns = {.path = "image", .label = "kind", .weight = "w"}});
  EXPECT_THAT(grays(table.train), ElementsAre(50));
  EXPECT_THAT(weights(table.train), ElementsAre(2));
  EXPECT_FALSE(table.test);
  // A column "weight" may be a property of the object.
  EXPECT_TRUE(load("path,label,weight\nimages/0.png,a,200\n")
                  .train.batch(0, 1)
                  .weights.empty());
}

TEST_F(ImageTables, HaveIndicesAndTargets) {
  const ImageTable indices =
      load("path,class\nimages/0.png,2\nimages/1.png,0\n");
  EXPECT_THAT(classes(indices.train), ElementsAre(2, 0));
  EXPECT_THAT(indices.classes, IsEmpty());
  const ImageTable targets =
      load("path,target\nimages/0.png,0.5\nimages/1.png,-2\n");
  EXPECT_EQ(targets.train.label_type(), DType::f32);
  EXPECT_THAT(values(targets.train.labels()), ElementsAre(0.5f, -2));
  // Class names may be numbers.
  const ImageTable named = load("path,label\nimages/0.png,7\nimages/1.png,3\n",
                                {.images = {.class_names = {"7", "5", "3"}}});
  EXPECT_THAT(classes(named.train), ElementsAre(0, 2));
  EXPECT_THAT(named.classes, ElementsAre("7", "5", "3"));
}

TEST_F(ImageTables, MayLackLabels) {
  const ImageTable table =
      load("path\nimages/4.png\n", {.labels_optional = true});
  EXPECT_TRUE(table.train.label_specs().empty());
  EXPECT_EQ(refusal("path\nimages/4.png\n", "columns.label = \"NAME\""),
            "missing_value");
  const ImageTable other = load(
      "path,label\nimages/4.png,bird\n",
      {.images = {.class_names = {"cat", "dog"}}, .labels_optional = true});
  EXPECT_TRUE(other.train.label_specs().empty());
  EXPECT_THAT(warnings_.messages,
              ElementsAre(Failure{"labels_ignored", csv().string()}));
}

TEST_F(ImageTables, ShuffleLabelsAndWeightsWithTheImages) {
  std::string text = "path,label,sample_weight\n";
  for (int i = 0; i < 6; ++i) {
    text += fmt::format("images/{}.png,{},{}\n", i, i, i);
  }
  const ImageTable table = load(text, {.images = {.seed = 3}});
  const std::vector<int> order = grays(table.train);
  EXPECT_THAT(order, ::testing::UnorderedElementsAre(0, 10, 20, 30, 40, 50));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(classes(table.train)[i] * 10, order[i]);
    EXPECT_EQ(weights(table.train)[i] * 10, order[i]);
    EXPECT_THAT(table.files[i],
                HasSubstr(fmt::format("{}.png", order[i] / 10)));
  }
}

TEST_F(ImageTables, SkipInvalidImagesWithTheirWeights) {
  put(folder_ / "bad.png", "no image");
  const ImageTable table = load(
      "path,label,sample_weight\nimages/1.png,a,1\nbad.png,a,2\n"
      "images/2.png,b,3\n",
      {.images = {.corrupt = CorruptFiles::skip}});
  EXPECT_THAT(weights(table.train), ElementsAre(1, 3));
  EXPECT_THAT(classes(table.train), ElementsAre(0, 1));
}

TEST_F(ImageTables, NameTheLineOfAnError) {
  const std::string good = "path,label,sample_weight\n\nimages/1.png,cat,1\n";
  EXPECT_EQ(refusal(good + "images/9.png,cat,1\n",
                    "line 4: image file "
                    "'images/9.png' not found"),
            "file_not_found");
  EXPECT_EQ(refusal(good + ",cat,1\n", "line 4"), "missing_value");
  EXPECT_EQ(refusal(good + "images,cat,1\n", "line 4"), "file_not_found");
  EXPECT_EQ(refusal(good + "images/2.png,,1\n", "line 4"), "missing_value");
  for (const char* weight : {"nan", "inf", "-1", "much", "1e99", ""}) {
    EXPECT_EQ(refusal(good + "images/2.png,cat," + weight + "\n", "line 4"),
              "out_of_range")
        << weight;
  }
  EXPECT_EQ(refusal(good + "images/2.png,cot,1\n", "'cat'",
                    {.images = {.class_names = {"cat", "dog"}}}),
            "unknown_name");
  EXPECT_EQ(refusal("path,label\nimages/1.png,0\nimages/1.png,-1\n", "line 3"),
            "out_of_range");
  EXPECT_EQ(refusal("path,label\nimages/1.png,a\nimages/2.png,sch\xF6n\n",
                    "line 3: label 'sch?n'"),
            "invalid_value");
  EXPECT_EQ(refusal("path,label,split\nimages/1.png,0,train\n"
                    "images/1.png,1,trian\n",
                    "line 3: part 'trian'"),
            "invalid_value");
}

TEST_F(ImageTables, RejectOtherTables) {
  EXPECT_EQ(refusal("path,file,label\nimages/1.png,x,0\n", "'path', 'file'"),
            "ambiguous_name");
  EXPECT_EQ(refusal("path;label\nimages/1.png;0\n", "separate cells by commas"),
            "missing_value");
  EXPECT_EQ(refusal("x,y\n1,2\n", "'x', 'y'"), "missing_value");
  EXPECT_EQ(refusal<NotFoundError>("path,kind\nimages/1.png,0\n", "'kind'",
                                   {.columns = {.label = "kinds"}}),
            "unknown_name");
  EXPECT_EQ(refusal("path,label,split\nimages/1.png,0,test\n", "train"),
            "missing_value");
  EXPECT_EQ(refusal("path,label,sample_weight\nimages/1.png,0,0\n", "0"),
            "invalid_value");
  EXPECT_EQ(refusal("path,label,sample_weight,split\nimages/1.png,0,0,train\n"
                    "images/2.png,0,1,test\n",
                    "0"),
            "invalid_value");
}

TEST_F(ImageTables, WarnOfImagesInBothParts) {
  (void)load(
      "path,label,split\nimages/1.png,0,train\nimages/../images/"
      "1.png,0,test\n");
  EXPECT_THAT(warnings_.messages,
              ElementsAre(Failure{"duplicate_name", csv().string()}));
}

TEST_F(ImageTables, WarnOfRepeatedImages) {
  const std::string rows =
      "path,label,split\nimages/1.png,0,train\nimages/../images/1.png,";
  (void)load(rows + "0,train\n");
  ASSERT_THAT(warnings_.messages,
              ElementsAre(Failure{"duplicate_name", csv().string()}));
  EXPECT_THAT(warnings_.messages[0].message, HasSubstr("more than once: 1"));
  // The parts do not depend on chance, so that a repetition is a weight.
  (void)load(rows + "0,train\nimages/2.png,0,test\n");
  EXPECT_EQ(warnings_.messages.size(), 1u);
  (void)load(rows + "1,train\nimages/2.png,0,test\n");
  ASSERT_EQ(warnings_.messages.size(), 2u);
  EXPECT_THAT(warnings_.messages[1].message, HasSubstr("another label: 1"));
}

TEST_F(ImageTables, PreferTheTestPart) {
  const std::string rows =
      "path,label,split\nimages/1.png,0,train\nimages/2.png,0,val\n";
  EXPECT_THAT(grays(load(rows).test.value()), ElementsAre(20));
  EXPECT_THAT(grays(load(rows + "images/3.png,0,test\n").test.value()),
              ElementsAre(30));
  EXPECT_THAT(warnings_.messages,
              ElementsAre(Failure{"files_ignored", csv().string()}));
}

TEST_F(ImageTables, OpenAsData) {
  put(csv(), "path,kind\nimages/1.png,a\nimages/2.png,b\n");
  const OpenedData opened =
      open_data(csv(), {.image = {1, 1, 3}, .columns = {.label = "kind"}});
  EXPECT_THAT(opened.kind, AllOf(HasSubstr("table"), HasSubstr("'kind'")));
  EXPECT_EQ(opened.train.input_shape(), Shape({1, 1, 3}));  // gray to RGB
  EXPECT_THAT(opened.classes, ElementsAre("a", "b"));
  EXPECT_THROW((void)open_data(csv(), {.labels = "y.npy", .image = {1, 1, 1}}),
               ValueError);
}

}  // namespace
}  // namespace octet::io

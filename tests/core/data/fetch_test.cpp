#include "core/data/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/digest.h"
#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

// An HTTP server on this machine that serves one file, with the faults a test asks for.
class Server {
 public:
  struct Faults {
    int64_t cut_after = -1;  // closes the connection of the first request after so many bytes
    bool no_ranges = false;
    int status = 200;  // sent instead of the file when it is not 200
    std::string redirect;
  };

  Server(Buffer content, Faults faults)
      : content_(std::move(content)),
        faults_(faults),
        listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url() const { return fmt::format("http://127.0.0.1:{}/x.bin", port_); }
  int requests() const { return requests_; }
  int64_t first_byte() const { return first_byte_; }  // that the last request asked for

 private:
  void serve() {
    for (;;) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      answer(client);
      ::close(client);
    }
  }

  void answer(int client) {
    std::string text;
    char buffer[4096];
    while (text.find("\r\n\r\n") == text.npos) {
      const auto n = ::recv(client, buffer, sizeof(buffer), 0);
      if (n <= 0) return;
      text.append(buffer, static_cast<size_t>(n));
    }
    int64_t start = 0;
    if (const auto at = text.find("Range: bytes="); at != text.npos && !faults_.no_ranges) {
      start = std::stoll(text.substr(at + 13));
    }
    first_byte_ = start;
    const int request = ++requests_;
    const auto size = static_cast<int64_t>(content_.size());
    std::string head = "HTTP/1.1 200 OK\r\n";
    if (faults_.status != 200) head = fmt::format("HTTP/1.1 {} Fault\r\n", faults_.status);
    if (!faults_.redirect.empty()) head += "Location: " + faults_.redirect + "\r\n";
    if (start >= size && start > 0) {
      head = "HTTP/1.1 416 Range Not Satisfiable\r\n";
    } else if (start > 0) {
      head = fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\n", start,
                         size - 1, size);
    }
    start = std::min(start, size);
    head += fmt::format("Content-Length: {}\r\nConnection: close\r\n\r\n", size - start);
    auto end = size;
    if (faults_.cut_after >= 0 && request == 1) end = std::min(end, faults_.cut_after);
    ::send(client, head.data(), head.size(), MSG_NOSIGNAL);
    for (auto at = start; at < end;) {
      const auto n =
          ::send(client, content_.data() + at, static_cast<size_t>(end - at), MSG_NOSIGNAL);
      if (n <= 0) return;
      at += n;
    }
  }

  Buffer content_;
  Faults faults_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> requests_ = 0;
  std::atomic<int64_t> first_byte_ = 0;
  std::thread thread_;
};

Buffer content() {
  Buffer bytes;
  for (uint32_t i = 0, x = 7; i < 300000; ++i)
    bytes.push_back((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

RemoteFile remote(const std::string& url) {
  return {.url = url,
          .file_name = "x.bin",
          .md5 = digest_hex("md5", content()),
          .bytes = static_cast<int64_t>(content().size())};
}

TEST(Fetch, DownloadsOnceAndReportsProgress) {
  const TemporaryFolder folder;
  const Server server(content(), {});
  int64_t last = -1;
  const FetchOptions options{.progress = [&](const RemoteFile&, int64_t done, int64_t total) {
    last = done;
    EXPECT_EQ(total, 300000);
  }};
  const auto path = fetch_file(remote(server.url()), folder / "new/folder", options);
  EXPECT_EQ(path, folder / "new/folder/x.bin");
  EXPECT_EQ(read_file(path, 1 << 20), content());
  EXPECT_EQ(last, 300000);
  EXPECT_EQ(folder.files(), 1);
  fetch_file(remote(server.url()), folder / "new/folder", {});
  EXPECT_EQ(server.requests(), 1) << "what is there was fetched again";
  write_bytes(path, bytes_of("altered"));
  fetch_file(remote(server.url()), folder / "new/folder", {});
  EXPECT_EQ(read_file(path, 1 << 20), content());
}

TEST(Fetch, ContinuesWhatWasCut) {
  const TemporaryFolder folder;
  const Server server(content(), {.cut_after = 100000});
  const auto message = data_error_of([&] { fetch_file(remote(server.url()), folder.path(), {}); });
  EXPECT_CONTAINS(message, server.url());
  EXPECT_CONTAINS(message, "100000 bytes are kept in");
  EXPECT_EQ(fs::file_size(folder / "x.bin.part"), 100000u);
  fetch_file(remote(server.url()), folder.path(), {});
  EXPECT_EQ(server.first_byte(), 100000);
  EXPECT_EQ(read_file(folder / "x.bin", 1 << 20), content());
  EXPECT_EQ(folder.files(), 1);
}

TEST(Fetch, StartsAnewWhereItCannotContinue) {
  const TemporaryFolder folder;
  const auto begin = content();
  const auto with_part = [&](const Buffer& part, const Server::Faults& faults, RemoteFile file) {
    const Server server(content(), faults);
    write_bytes(folder / "x.bin.part", part);
    file.url = server.url();
    fetch_file(file, folder.path(), {});
    EXPECT_EQ(read_file(folder / "x.bin", 1 << 20), content());
    EXPECT_EQ(folder.files(), 1);
    fs::remove(folder / "x.bin");
    return server.requests();
  };
  auto unknown_size = remote("");
  unknown_size.bytes = 0;
  const Buffer some(begin.begin(), begin.begin() + 5000);
  EXPECT_EQ(with_part(some, {.no_ranges = true}, remote("")), 2);
  EXPECT_EQ(with_part(Buffer(5000, 'x'), {}, remote("")), 2);  // a part of something else
  EXPECT_EQ(with_part(begin, {}, remote("")), 0);              // complete, not yet renamed
  EXPECT_EQ(with_part(begin, {}, unknown_size), 1);            // the same, size not known
  EXPECT_EQ(with_part(Buffer(400000), {}, remote("")), 1);     // longer than the file
  EXPECT_EQ(with_part(Buffer(300000), {}, remote("")), 1);     // as long and wrong
  EXPECT_EQ(with_part(Buffer(400000), {}, unknown_size), 2);
}

TEST(Fetch, RefusesOtherContent) {
  const TemporaryFolder folder;
  auto other = content();
  other[77] ^= 1;
  const Server server(other, {});
  const auto file = remote(server.url());
  const auto message = data_error_of([&] { fetch_file(file, folder.path(), {}); });
  EXPECT_CONTAINS(message, "expected md5 " + file.md5 + ", found " + digest_hex("md5", other));
  EXPECT_EQ(folder.files(), 0);
  auto sha = file;
  sha.md5 = "";
  sha.sha256 = digest_hex("sha256", content());
  EXPECT_CONTAINS(data_error_of([&] { fetch_file(sha, folder.path(), {}); }), "expected sha256");
}

TEST(Fetch, RefusesMoreThanExpected) {
  const TemporaryFolder folder;
  const Server server(content(), {});
  auto file = remote(server.url());
  file.bytes = 1000;
  EXPECT_CONTAINS(data_error_of([&] { fetch_file(file, folder.path(), {}); }),
                  "at most 1000 bytes");
  file.bytes = 0;
  EXPECT_CONTAINS(data_error_of([&] { fetch_file(file, folder.path(), {.max_bytes = 2000}); }),
                  "at most 2000 bytes");
  EXPECT_FALSE(fs::exists(folder / "x.bin"));
}

TEST(Fetch, SaysWhatTheServerSaid) {
  const TemporaryFolder folder;
  {
    const Server server(bytes_of("not here"), {.status = 404});
    EXPECT_CONTAINS(data_error_of([&] { fetch_file(remote(server.url()), folder.path(), {}); }),
                    "404");
  }
  std::string gone;
  {
    const Server server(content(), {});
    gone = server.url();
  }
  EXPECT_CONTAINS(data_error_of([&] { fetch_file(remote(gone), folder.path(), {}); }), gone);
  EXPECT_FALSE(fs::exists(folder / "x.bin"));
}

TEST(Fetch, OnlyEncryptedExceptFromThisMachine) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& url) {
    return data_error_of([&] { fetch_file(remote(url), folder.path(), {}); });
  };
  EXPECT_CONTAINS(error("http://example.org/x.bin"), "expected an https URL, found http");
  EXPECT_CONTAINS(error("ftp://127.0.0.1/x.bin"), "found ftp");
  EXPECT_CONTAINS(error("file:///etc/passwd"), "found file");
  EXPECT_CONTAINS(error("http://127.0.0.1.example.org/x"), "found http");
  EXPECT_CONTAINS(error("no url"), "expected");
  const Server server(content(), {.status = 302, .redirect = "http://127.0.0.1:1/x.bin"});
  EXPECT_CONTAINS(error(server.url()), server.url());
  EXPECT_EQ(folder.files() - fs::exists(folder / "x.bin.part"), 0);
}

TEST(Fetch, AMirrorReplacesTheFolder) {
  const TemporaryFolder folder;
  const Server server(content(), {});
  const auto base = server.url().substr(0, server.url().rfind('/'));
  for (const auto& mirror : {base, base + "/"}) {
    fetch_file(remote("https://example.org/x.bin"), folder.path(), {.mirror = mirror});
    fs::remove(folder / "x.bin");
  }
  EXPECT_EQ(server.requests(), 2);
}

// A data set of this test: the file's bytes are the pixels of its one training image.
LoadedDataset import_fetched(const std::string& path) {
  ImageBuffer images{.height = 300, .width = 1000, .channels = 1, .labels = {0}};
  images.pixels = read_file(path, 1 << 20);
  return make_dataset({.name = "fetched", .source = "x.bin", .classes = 2}, images, images);
}

REGISTER_DATASET("fetched")
    .described("what the test of `data fetch` fetches")
    .shaped({.classes = 2, .channels = 1, .height = 300, .width = 1000, .n_train = 1, .n_test = 1})
    .fetched_from({.url = "https://example.org/x.bin",
                   .file_name = "x.bin",
                   .md5 = digest_hex("md5", content())})
    .imported_by(import_fetched);

REGISTER_DATASET("nowhere")
    .described("what no server has")
    .shaped({.classes = 2, .channels = 1, .height = 1, .width = 1, .n_train = 1, .n_test = 1})
    .fetched_from({.url = "https://127.0.0.1:1/x.bin",
                   .file_name = "x.bin",
                   .md5 = digest_hex("md5", content())})
    .imported_by(import_fetched);

TEST(Fetch, ImportsWhatItFetched) {
  const TemporaryFolder folder;
  const Server server(content(), {});
  const auto base = server.url().substr(0, server.url().rfind('/'));
  const auto dataset = fetch_dataset("fetched", folder.path(), {.mirror = base});
  EXPECT_EQ(Buffer(dataset.train.pixels.begin(), dataset.train.pixels.end()), content());
  EXPECT_EQ(dataset_checksum("fetched", folder.path()), dataset.sha256);
  EXPECT_TRUE(fs::exists(folder / "downloads/fetched/x.bin"));
  EXPECT_TRUE(fs::exists(folder / "fetched.packed"));
}

// Without a network the files may still be had in two other ways.
TEST(Fetch, WhatCannotBeDownloadedSaysHowElseToGetIt) {
  const TemporaryFolder folder;
  const std::string nobody = "http://127.0.0.1:1/";
  const auto message =
      data_error_of([&] { fetch_dataset("fetched", folder.path(), {.mirror = nobody}); });
  EXPECT_CONTAINS(message, nobody + "x.bin: ");
  EXPECT_CONTAINS(message, "if you have the files: approxtrain data import fetched PATH");
  EXPECT_FALSE(contains(message, "--mirror"));
  // A name that none has, asked for without a mirror.
  EXPECT_CONTAINS(
      data_error_of([&] { fetch_dataset("nowhere", folder.path(), {}); }),
      "; --mirror URL takes them from elsewhere; if you have the files: approxtrain data "
      "import nowhere PATH");
}

TEST(Fetch, ADataSetThatComesWithTheProgramIsNotFetched) {
  EXPECT_THROW(fetch_dataset("mnist14", "/nowhere", {}), Error);
  EXPECT_THROW(fetch_dataset("mnist15", "/nowhere", {}), Error);
}

}  // namespace
}  // namespace approx::testing

#include "base/digest.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/error.h"

namespace approx {

Digest::Digest(const char* algorithm) : context_(EVP_MD_CTX_new()) {
  auto* context = static_cast<EVP_MD_CTX*>(context_);
  const auto* kind = EVP_get_digestbyname(algorithm);
  if (context == nullptr || kind == nullptr || EVP_DigestInit_ex(context, kind, nullptr) != 1) {
    EVP_MD_CTX_free(context);
    throw Error(ErrorKind::kInternal, fmt::format("OpenSSL offers no {}", algorithm));
  }
}

Digest::~Digest() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

Digest& Digest::add(Bytes bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
  return *this;
}

std::vector<uint8_t> Digest::finish() {
  std::vector<uint8_t> value(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), value.data(), &size);
  value.resize(size);
  return value;
}

std::string Digest::hex() {
  std::string text;
  for (const auto byte : finish()) text += fmt::format("{:02x}", byte);
  return text;
}

std::array<uint8_t, 32> sha256(Bytes bytes) {
  std::array<uint8_t, 32> value;
  std::ranges::copy(Digest("sha256").add(bytes).finish(), value.begin());
  return value;
}

std::string sha256_hex(std::string_view bytes) { return digest_hex("sha256", to_bytes(bytes)); }

std::string digest_hex(const char* algorithm, Bytes bytes) {
  return Digest(algorithm).add(bytes).hex();
}

std::string file_digest_hex(const char* algorithm, const std::string& path) {
  Digest digest(algorithm);
  for_each_piece(path, [&digest](Bytes piece) { digest.add(piece); });
  return digest.hex();
}

}  // namespace approx

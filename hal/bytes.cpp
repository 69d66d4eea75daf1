// SPDX-License-Identifier: BSD-3-Clause
#include "hal/bytes.h"

#include <array>
#include <bit>
#include <cerrno>
#include <concepts>
#include <cstring>
#include <string>

#if defined(__x86_64__)
#include <nmmintrin.h>
#if __has_include(<sys/platform/x86.h>) && !defined(__clang__)  // it says _Bool, unknown to clang
#include <sys/platform/x86.h>
#endif
#endif

namespace hal {
namespace {

template <std::unsigned_integral T>
constexpr T big_endian(T value) noexcept {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}

Failure short_input(std::size_t offset, std::size_t wanted, std::size_t left) {
  return fail(Errc::corrupt, EBADMSG,
              "truncated at offset " + std::to_string(offset) + ": " + std::to_string(wanted) +
                  " bytes wanted, " + std::to_string(left) + " left");
}

template <std::unsigned_integral T>
Result<T> read_number(Result<std::span<const std::byte>> bytes) {
  if (!bytes) return propagate(std::move(bytes));
  T value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return big_endian(value);
}

template <std::unsigned_integral T>
void append_number(std::vector<std::byte>& bytes, T value) {
  const auto wire = std::bit_cast<std::array<std::byte, sizeof(T)>>(big_endian(value));
  bytes.insert(bytes.end(), wire.begin(), wire.end());
}

constexpr std::uint32_t kPolynomial = 0x82f63b78U;  // Castagnoli, reflected

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[slice - 1][byte];
      tables[slice][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr CrcTables kCrcTables = make_crc_tables();

std::uint64_t load_little(const std::byte* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                             std::uint32_t seed) noexcept {
  std::uint64_t crc = seed ^ 0xffffffffU;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, load_little(at));
  auto crc32 = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) crc32 = _mm_crc32_u8(crc32, std::to_integer<unsigned char>(*at));
  return crc32 ^ 0xffffffffU;
}
#endif

using CrcFunction = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t) noexcept;

CrcFunction choose_crc() noexcept {
#if defined(__x86_64__)
#if defined(CPU_FEATURE_ACTIVE)
  // What the loader knows already: the compiler's own test would ask the processor at each start of
  // every plugin, and under a hypervisor each question costs a trap.
  if (CPU_FEATURE_ACTIVE(SSE4_2)) return crc32c_sse42;
#else
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42;
#endif
#endif
  return crc32c_portable;
}

}  // namespace

Result<std::span<const std::byte>> ByteReader::take(std::size_t size) {
  if (size > remaining()) return short_input(offset_, size, remaining());
  const auto block = bytes_.subspan(offset_, size);
  offset_ += size;
  return block;
}

Result<std::uint8_t> ByteReader::u8() { return read_number<std::uint8_t>(take(1)); }
Result<std::uint16_t> ByteReader::u16() { return read_number<std::uint16_t>(take(2)); }
Result<std::uint32_t> ByteReader::u32() { return read_number<std::uint32_t>(take(4)); }
Result<std::uint64_t> ByteReader::u64() { return read_number<std::uint64_t>(take(8)); }

Result<std::int32_t> ByteReader::i32() {
  return u32().transform([](std::uint32_t value) { return static_cast<std::int32_t>(value); });
}

void ByteWriter::u8(std::uint8_t value) { append_number(bytes_, value); }
void ByteWriter::u16(std::uint16_t value) { append_number(bytes_, value); }
void ByteWriter::u32(std::uint32_t value) { append_number(bytes_, value); }
void ByteWriter::u64(std::uint64_t value) { append_number(bytes_, value); }

void ByteWriter::append(std::span<const std::byte> block) {
  bytes_.insert(bytes_.end(), block.begin(), block.end());
}

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  std::uint32_t crc = seed ^ 0xffffffffU;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  const auto& t = kCrcTables;
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint64_t word = load_little(at) ^ crc;
    crc = t[7][word & 0xff] ^ t[6][(word >> 8) & 0xff] ^ t[5][(word >> 16) & 0xff] ^
          t[4][(word >> 24) & 0xff] ^ t[3][(word >> 32) & 0xff] ^ t[2][(word >> 40) & 0xff] ^
          t[1][(word >> 48) & 0xff] ^ t[0][word >> 56];
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8) ^ t[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xff];
  }
  return crc ^ 0xffffffffU;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  static const CrcFunction chosen = choose_crc();
  return chosen(bytes, seed);
}

}  // namespace hal

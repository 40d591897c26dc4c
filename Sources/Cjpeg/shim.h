// libjpeg: reads a JPEG to its end and asks about every warning; libturbojpeg tells the first alone. Errors are ended
// by longjmp within this file, which crosses no Swift frame.
#pragma once
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>

// Of a warning: its number, how many scans have begun, how often the picture restarts, how many bytes were passed
// over before which marker, and how many of them, the last ones before it, are zero.
struct cjpeg_warning {
  int code;
  int scans;
  unsigned int restarts;
  int discarded;
  int marker;
  int zeroes;
};

struct cjpeg_reading {
  struct jpeg_error_mgr errors;
  jmp_buf end;
  const unsigned char *bytes;
  char *words;
  bool (*is_harmless)(struct cjpeg_warning);
};

static inline void cjpeg_stop(j_common_ptr info) {
  struct cjpeg_reading *reading = (struct cjpeg_reading *)info->err;
  info->err->format_message(info, reading->words);
  longjmp(reading->end, 1);
}

static inline void cjpeg_say_nothing(j_common_ptr info) { (void)info; }

static inline void cjpeg_warn(j_common_ptr info, int level) {
  if (level >= 0) return;
  struct cjpeg_reading *reading = (struct cjpeg_reading *)info->err;
  j_decompress_ptr picture = (j_decompress_ptr)info;
  struct cjpeg_warning warning = { .code = info->err->msg_code, .scans = picture->input_scan_number,
    .restarts = picture->restart_interval };
  if (warning.code == JWRN_EXTRANEOUS_DATA) {
    warning.discarded = info->err->msg_parm.i[0];
    warning.marker = info->err->msg_parm.i[1];
    // The reader stands behind the last byte that it passed over.
    const unsigned char *at = picture->src->next_input_byte;
    while (at > reading->bytes && at[-1] == 0) { warning.zeroes++; at--; }
  }
  if (!reading->is_harmless(warning)) cjpeg_stop(info);
}

// Whether the JPEG is read to its end without an error, and each warning is harmless; if not, the words of the first one
// that is an error or not harmless, for which there is room for JMSG_LENGTH_MAX bytes.
static inline bool cjpeg_is_whole(
    const unsigned char *bytes, unsigned long count, bool (*is_harmless)(struct cjpeg_warning), char *words) {
  struct jpeg_decompress_struct picture;
  struct cjpeg_reading reading = { .bytes = bytes, .words = words, .is_harmless = is_harmless };
  memset(&picture, 0, sizeof picture);
  picture.err = jpeg_std_error(&reading.errors);
  reading.errors.error_exit = cjpeg_stop;
  reading.errors.emit_message = cjpeg_warn;
  reading.errors.output_message = cjpeg_say_nothing;
  bool is_whole = setjmp(reading.end) == 0;
  if (is_whole) {
    jpeg_create_decompress(&picture);
    jpeg_mem_src(&picture, bytes, count);
    jpeg_read_header(&picture, TRUE);
    jpeg_read_coefficients(&picture);
    jpeg_finish_decompress(&picture);
  }
  jpeg_destroy_decompress(&picture);
  return is_whole;
}

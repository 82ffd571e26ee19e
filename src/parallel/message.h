/* A message between two processes. */
#ifndef MD_PARALLEL_MESSAGE_H
#define MD_PARALLEL_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* A message from this rank or to it. Those between two ranks with the same tag come in the order in which they were sent. */
typedef struct MdMessage {
    int rank, tag; /* of whom; 0 <= tag < MD_COMM_MAX_TAG */
    bool is_sent;  /* else received */
    void *data;
    int64_t bytes; /* the same on both sides; with 0 nothing is sent */
} MdMessage;
enum { MD_COMM_MAX_TAG = 1 << 14 };

#endif

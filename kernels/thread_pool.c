/* One pool of threads for the process. */
#include "threads.h"

int share(const Team *team, Task task, const void *args, ptrdiff_t count, ptrdiff_t cost) {
    (void)cost;
    return count > 0 ? task(args, 0, count, team->scratch) : 0;
}

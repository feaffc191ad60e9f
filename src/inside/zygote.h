/* zygote.h - what a language kernel may ask of the code that forked it. */
#pragma once

/*
 * Gives the calling thread back what a raw clone() took from it: registers restartable sequences
 * and the robust futex list again. Called in every new kernel and after KERNEL_RESUME.
 */
void zygote_thread_reset(void);

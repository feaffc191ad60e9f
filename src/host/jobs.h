/*
 * jobs.h - the functions for each kind of job.
 */
#pragma once

#include "host/executions/job.h"

extern const struct job_type job_types[JOB_KINDS];

/** Microseconds, as in the tables. */
export const MILLISECOND = 1000
export const SECOND = 1000 * MILLISECOND
export const HOUR = 3600 * SECOND

export const CLOCK = `(extract(epoch from clock_timestamp()) * ${SECOND})::bigint`

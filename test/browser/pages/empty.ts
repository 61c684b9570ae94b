/** A page that does nothing, for what runs beside it. */
export {}

/** Playwright learns the extension's address from its worker. */
export {}

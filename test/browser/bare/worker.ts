/** Does nothing: the tests say what happens here. */
export {}

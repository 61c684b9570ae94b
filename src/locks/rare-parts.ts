/** What few pages use. It imports nothing else, because it is loaded on demand: see Pages in ARCHITECTURE. */
export { hashedResource } from './long-names.ts'
export { query } from './query.ts'

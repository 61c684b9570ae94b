/** Names as ids of documents, which may not contain `/`, and some of which are reserved: `a/b` is `lease:a~1b`. */
const LEASE = 'lease:'
const FLOOR = 'floor'

export function idOf(name: string): string {
  return name === '' ? FLOOR : LEASE + name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** `null`: the id of a document of another program. */
export function nameOf(id: string): string | null {
  if (id === FLOOR) return ''
  const name = id.slice(LEASE.length).replaceAll('~1', '/').replaceAll('~0', '~')
  return idOf(name) === id ? name : null
}

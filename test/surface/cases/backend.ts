/** A column of the table: the cases of one backend, with one of its clients. */
export interface Backend extends AsyncDisposable {
  readonly cases: Readonly<Record<string, () => Promise<void>>>
}

/** Names of resources, tables and folders are unique to a run, because runs may share a server. */
export const unique = `surface_${crypto.randomUUID().slice(0, 13).replace('-', '_')}`

export function addressOf(variable: string): string {
  const address = process.env[variable]
  if (!address) throw new Error(`${variable} is not set`)
  return address
}

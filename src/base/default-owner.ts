import { randomId } from './random-id.ts'

/** `host:pid` in Node, Deno and Bun. A page has neither, so there it is a short random id. */
export function defaultOwner(): string {
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> }
  const host = process?.getBuiltinModule?.('node:os').hostname()
  return host ? `${host}:${process?.pid}` : randomId().slice(0, 8)
}

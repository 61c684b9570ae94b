import { randomId } from './random-id.ts'

/** In a bundle for pages, in place of `default-owner.ts`. */
export function defaultOwner(): string {
  return randomId().slice(0, 8)
}

import type { Entry } from './save-file.ts'

export interface Limits {
  readonly generations: number
  readonly maxBytes: number
}

/** Which saves stay, of a list with the newest first. The newest always does. */
export function rotate(entries: readonly Entry[], { generations, maxBytes }: Limits) {
  let total = 0
  const fits = entries.map(({ bytes }, place) => {
    total += bytes
    return place === 0 || (place < generations && total <= maxBytes)
  })
  // Nothing older than the first that has to go: a history without holes.
  const kept = fits.includes(false) ? fits.indexOf(false) : entries.length
  return { kept: entries.slice(0, kept), dropped: entries.slice(kept) }
}

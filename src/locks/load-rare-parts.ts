import * as rareParts from './rare-parts.ts'

export async function loadRareParts(): Promise<typeof rareParts> {
  return rareParts
}

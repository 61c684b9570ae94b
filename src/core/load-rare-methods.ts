import * as rareMethods from './rare-methods.ts'

export async function loadRareMethods(): Promise<typeof rareMethods> {
  return rareMethods
}

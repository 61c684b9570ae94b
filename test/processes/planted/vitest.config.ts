import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { include: ['test/processes/planted/planted.ts'] } })

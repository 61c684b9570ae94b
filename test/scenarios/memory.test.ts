import { memoryStore } from '../../src/stores/memory.ts'
import { describeScenarios } from './describe-scenarios.ts'

describeScenarios('the memory store', async () => {
  const store = memoryStore()
  return {
    // A scenario may change the methods of its store.
    open: async () => ({ store: { ...store }, close: async () => {} }),
    close: () => store.close(),
  }
})

/** Carries out the writes of content scripts and of closed pages. */
import { chromeContext, createCoordinator } from 'holdfast/sync'
import { browser } from 'wxt/browser'
import { defineBackground } from 'wxt/utils/define-background'

export default defineBackground({
  type: 'module',
  main() {
    const coordinator = createCoordinator(chromeContext())
    browser.runtime.onInstalled.addListener(() => void coordinator.cleanupOrphans())
    browser.runtime.onStartup.addListener(() => void coordinator.cleanupOrphans())
  },
})

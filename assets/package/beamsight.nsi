; Installer for one user, who needs no rights of an administrator: makensis -DVERSION=... -DPROGRAM=folder -DREMOVAL=file -DOUT=file
; PROGRAM is the folder of the portable zip, REMOVAL the list of its files for the removal, which touches nothing else.
Unicode true
Target amd64-unicode
SetCompressor /SOLID lzma
RequestExecutionLevel user
Name "Beamsight"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\Beamsight"
InstallDirRegKey HKCU "Software\Beamsight" "folder"
Icon "${PROGRAM}\beamsight.ico"
UninstallIcon "${PROGRAM}\beamsight.ico"
VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "Beamsight"
VIAddVersionKey "FileDescription" "Installer of Beamsight, a radiotherapy viewer (not for clinical use)"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "MIT OR Apache-2.0"

!include "x64.nsh"
!define REMOVE "Software\Microsoft\Windows\CurrentVersion\Uninstall\Beamsight"
!define CLASSES "Software\Classes"

Page directory
Page instfiles
UninstPage uninstConfirm
UninstPage instfiles

; Explorer reads the kinds of files anew.
!macro TellExplorer
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
!macroend

Function .onInit
  ${IfNot} ${RunningX64}
    MessageBox MB_ICONSTOP "Beamsight needs Windows of 64 bits." /SD IDOK
    Abort
  ${EndIf}
FunctionEnd

Section
  SetOutPath "$INSTDIR"
  File /r "${PROGRAM}\*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Beamsight.lnk" "$INSTDIR\beamsight.exe"
  WriteRegStr HKCU "Software\Beamsight" "folder" "$INSTDIR"

  ; "Open with" for DICOM files, volumes and sessions; what opens them by a double click stays as it is.
  WriteRegStr HKCU "${CLASSES}\Applications\beamsight.exe" "FriendlyAppName" "Beamsight"
  WriteRegStr HKCU "${CLASSES}\Applications\beamsight.exe\shell\open\command" "" '"$INSTDIR\beamsight.exe" "%1"'
  WriteRegStr HKCU "${CLASSES}\Applications\beamsight.exe\SupportedTypes" ".dcm" ""
  WriteRegStr HKCU "${CLASSES}\Applications\beamsight.exe\SupportedTypes" ".mha" ""
  WriteRegStr HKCU "${CLASSES}\Applications\beamsight.exe\SupportedTypes" ".json" ""
  WriteRegStr HKCU "${CLASSES}\Beamsight.case" "" "Radiotherapy case"
  WriteRegStr HKCU "${CLASSES}\Beamsight.case\DefaultIcon" "" "$INSTDIR\beamsight.ico"
  WriteRegStr HKCU "${CLASSES}\Beamsight.case\shell\open\command" "" '"$INSTDIR\beamsight.exe" "%1"'
  WriteRegStr HKCU "${CLASSES}\.dcm\OpenWithProgids" "Beamsight.case" ""
  WriteRegStr HKCU "${CLASSES}\.mha\OpenWithProgids" "Beamsight.case" ""

  WriteRegStr HKCU "${REMOVE}" "DisplayName" "Beamsight (not for clinical use)"
  WriteRegStr HKCU "${REMOVE}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${REMOVE}" "DisplayIcon" "$INSTDIR\beamsight.exe"
  WriteRegStr HKCU "${REMOVE}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${REMOVE}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${REMOVE}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${REMOVE}" "NoModify" 1
  WriteRegDWORD HKCU "${REMOVE}" "NoRepair" 1
  !insertmacro TellExplorer
SectionEnd

Section Uninstall
  !include "${REMOVAL}"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\Beamsight.lnk"
  DeleteRegKey HKCU "${CLASSES}\Applications\beamsight.exe"
  DeleteRegKey HKCU "${CLASSES}\Beamsight.case"
  DeleteRegValue HKCU "${CLASSES}\.dcm\OpenWithProgids" "Beamsight.case"
  DeleteRegValue HKCU "${CLASSES}\.mha\OpenWithProgids" "Beamsight.case"
  DeleteRegKey HKCU "${REMOVE}"
  DeleteRegKey HKCU "Software\Beamsight"
  !insertmacro TellExplorer
SectionEnd

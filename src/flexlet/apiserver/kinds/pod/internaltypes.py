"""The fields of upstream's internal pod spec, in its order.

Some error texts show objects in upstream's internal form: Go's field names, unset fields included. Only those
texts need this table; the renderer is `internalform`. Each entry is a field's Go name, ``=`` and its JSON name
where that does not follow from the Go name, and its shape:

    (nothing) string   # number   ! bool   % quantity      absent shows as "", 0, false, "0"
    ? scalar, list of scalars or map                       absent shows as null
    ?T pointer   *T list   .T embedded struct of type T

Taken from ``pkg/apis/core/types.go`` of Kubernetes 1.36.3.
"""

from typing import Final

FIELDS: Final[dict[str, str]] = {
    "PodSpec": (
        "Volumes*Volume InitContainers*Container Containers*Container EphemeralContainers*EphemeralContainer "
        "RestartPolicy TerminationGracePeriodSeconds? ActiveDeadlineSeconds? DNSPolicy NodeSelector? "
        "ServiceAccountName AutomountServiceAccountToken? NodeName SecurityContext?PodSecurityContext "
        "ImagePullSecrets*LocalObjectReference Hostname Subdomain SetHostnameAsFQDN? Affinity?Affinity "
        "SchedulerName Tolerations*Toleration HostAliases*HostAlias PriorityClassName Priority? "
        "PreemptionPolicy? DNSConfig?PodDNSConfig ReadinessGates*PodReadinessGate RuntimeClassName? Overhead? "
        "EnableServiceLinks? TopologySpreadConstraints*TopologySpreadConstraint OS?PodOS "
        "SchedulingGates*PodSchedulingGate ResourceClaims*PodResourceClaim Resources?ResourceRequirements "
        "HostnameOverride? SchedulingGroup?PodSchedulingGroup"
    ),
    "Volume": (
        "Name HostPath?HostPathVolumeSource EmptyDir?EmptyDirVolumeSource "
        "GCEPersistentDisk?GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore?AWSElasticBlockStoreVolumeSource GitRepo?GitRepoVolumeSource "
        "Secret?SecretVolumeSource NFS?NFSVolumeSource ISCSI?ISCSIVolumeSource "
        "Glusterfs?GlusterfsVolumeSource PersistentVolumeClaim?PersistentVolumeClaimVolumeSource "
        "RBD?RBDVolumeSource Quobyte?QuobyteVolumeSource FlexVolume?FlexVolumeSource "
        "Cinder?CinderVolumeSource CephFS=cephfs?CephFSVolumeSource Flocker?FlockerVolumeSource "
        "DownwardAPI?DownwardAPIVolumeSource FC?FCVolumeSource AzureFile?AzureFileVolumeSource "
        "ConfigMap?ConfigMapVolumeSource VsphereVolume?VsphereVirtualDiskVolumeSource "
        "AzureDisk?AzureDiskVolumeSource PhotonPersistentDisk?PhotonPersistentDiskVolumeSource "
        "Projected?ProjectedVolumeSource PortworxVolume?PortworxVolumeSource ScaleIO?ScaleIOVolumeSource "
        "StorageOS=storageos?StorageOSVolumeSource CSI?CSIVolumeSource Ephemeral?EphemeralVolumeSource "
        "Image?ImageVolumeSource"
    ),
    "HostPathVolumeSource": "Path Type?",
    "EmptyDirVolumeSource": "Medium SizeLimit?",
    "GCEPersistentDiskVolumeSource": "PDName FSType Partition# ReadOnly!",
    "AWSElasticBlockStoreVolumeSource": "VolumeID FSType Partition# ReadOnly!",
    "GitRepoVolumeSource": "Repository Revision Directory",
    "SecretVolumeSource": "SecretName Items*KeyToPath DefaultMode? Optional?",
    "KeyToPath": "Key Path Mode?",
    "NFSVolumeSource": "Server Path ReadOnly!",
    "ISCSIVolumeSource": (
        "TargetPortal IQN Lun# ISCSIInterface FSType ReadOnly! Portals? DiscoveryCHAPAuth=chapAuthDiscovery! "
        "SessionCHAPAuth=chapAuthSession! SecretRef?LocalObjectReference InitiatorName?"
    ),
    "LocalObjectReference": "Name",
    "GlusterfsVolumeSource": "EndpointsName=endpoints Path ReadOnly!",
    "PersistentVolumeClaimVolumeSource": "ClaimName ReadOnly!",
    "RBDVolumeSource": (
        "CephMonitors=monitors? RBDImage=image FSType RBDPool=pool RadosUser=user Keyring "
        "SecretRef?LocalObjectReference ReadOnly!"
    ),
    "QuobyteVolumeSource": "Registry Volume ReadOnly! User Group Tenant",
    "FlexVolumeSource": "Driver FSType SecretRef?LocalObjectReference ReadOnly! Options?",
    "CinderVolumeSource": "VolumeID FSType ReadOnly! SecretRef?LocalObjectReference",
    "CephFSVolumeSource": "Monitors? Path User SecretFile SecretRef?LocalObjectReference ReadOnly!",
    "FlockerVolumeSource": "DatasetName DatasetUUID",
    "DownwardAPIVolumeSource": "Items*DownwardAPIVolumeFile DefaultMode?",
    "DownwardAPIVolumeFile": "Path FieldRef?ObjectFieldSelector ResourceFieldRef?ResourceFieldSelector Mode?",
    "ObjectFieldSelector": "APIVersion FieldPath",
    "ResourceFieldSelector": "ContainerName Resource Divisor%",
    "FCVolumeSource": "TargetWWNs? Lun? FSType ReadOnly! WWIDs=wwids?",
    "AzureFileVolumeSource": "SecretName ShareName ReadOnly!",
    "ConfigMapVolumeSource": "Name Items*KeyToPath DefaultMode? Optional?",
    "VsphereVirtualDiskVolumeSource": "VolumePath FSType StoragePolicyName StoragePolicyID",
    "AzureDiskVolumeSource": "DiskName DataDiskURI=diskURI CachingMode? FSType? ReadOnly? Kind?",
    "PhotonPersistentDiskVolumeSource": "PdID FSType",
    "ProjectedVolumeSource": "Sources*VolumeProjection DefaultMode?",
    "VolumeProjection": (
        "Secret?SecretProjection DownwardAPI?DownwardAPIProjection ConfigMap?ConfigMapProjection "
        "ServiceAccountToken?ServiceAccountTokenProjection ClusterTrustBundle?ClusterTrustBundleProjection "
        "PodCertificate?PodCertificateProjection"
    ),
    "SecretProjection": "Name Items*KeyToPath Optional?",
    "DownwardAPIProjection": "Items*DownwardAPIVolumeFile",
    "ConfigMapProjection": "Name Items*KeyToPath Optional?",
    "ServiceAccountTokenProjection": "Audience ExpirationSeconds# Path",
    "ClusterTrustBundleProjection": "Name? SignerName? LabelSelector?LabelSelector Optional? Path",
    "PodCertificateProjection": (
        "SignerName KeyType MaxExpirationSeconds? CredentialBundlePath KeyPath CertificateChainPath "
        "UserAnnotations?"
    ),
    "PortworxVolumeSource": "VolumeID FSType ReadOnly!",
    "ScaleIOVolumeSource": (
        "Gateway System SecretRef?LocalObjectReference SSLEnabled! ProtectionDomain StoragePool StorageMode "
        "VolumeName FSType ReadOnly!"
    ),
    "StorageOSVolumeSource": "VolumeName VolumeNamespace FSType ReadOnly! SecretRef?LocalObjectReference",
    "CSIVolumeSource": "Driver ReadOnly? FSType? VolumeAttributes? NodePublishSecretRef?LocalObjectReference",
    "EphemeralVolumeSource": "VolumeClaimTemplate?PersistentVolumeClaimTemplate",
    "PersistentVolumeClaimTemplate": "Spec.PersistentVolumeClaimSpec",
    "PersistentVolumeClaimSpec": (
        "AccessModes? Selector?LabelSelector Resources.VolumeResourceRequirements VolumeName "
        "StorageClassName? VolumeMode? DataSource?TypedLocalObjectReference "
        "DataSourceRef?TypedObjectReference VolumeAttributesClassName?"
    ),
    "VolumeResourceRequirements": "Limits? Requests?",
    "TypedLocalObjectReference": "APIGroup? Kind Name",
    "TypedObjectReference": "APIGroup? Kind Name Namespace?",
    "ImageVolumeSource": "Reference PullPolicy",
    "Container": (
        "Name Image Command? Args? WorkingDir Ports*ContainerPort EnvFrom*EnvFromSource Env*EnvVar "
        "Resources.ResourceRequirements ResizePolicy*ContainerResizePolicy RestartPolicy? "
        "RestartPolicyRules*ContainerRestartRule VolumeMounts*VolumeMount VolumeDevices*VolumeDevice "
        "LivenessProbe?Probe ReadinessProbe?Probe StartupProbe?Probe Lifecycle?Lifecycle "
        "TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext?SecurityContext "
        "Stdin! StdinOnce! TTY!"
    ),
    "ContainerPort": "Name HostPort# ContainerPort# Protocol HostIP",
    "EnvFromSource": "Prefix ConfigMapRef?ConfigMapEnvSource SecretRef?SecretEnvSource",
    "ConfigMapEnvSource": "Name Optional?",
    "SecretEnvSource": "Name Optional?",
    "EnvVar": "Name Value ValueFrom?EnvVarSource",
    "EnvVarSource": (
        "FieldRef?ObjectFieldSelector ResourceFieldRef?ResourceFieldSelector "
        "ConfigMapKeyRef?ConfigMapKeySelector SecretKeyRef?SecretKeySelector FileKeyRef?FileKeySelector"
    ),
    "ConfigMapKeySelector": "Name Key Optional?",
    "SecretKeySelector": "Name Key Optional?",
    "FileKeySelector": "VolumeName Path Key Optional?",
    "ResourceRequirements": "Limits? Requests? Claims*ResourceClaim",
    "ResourceClaim": "Name Request",
    "ContainerResizePolicy": "ResourceName RestartPolicy",
    "ContainerRestartRule": "Action ExitCodes?ContainerRestartRuleOnExitCodes",
    "ContainerRestartRuleOnExitCodes": "Operator Values?",
    "VolumeMount": "Name ReadOnly! RecursiveReadOnly? MountPath SubPath MountPropagation? SubPathExpr",
    "VolumeDevice": "Name DevicePath",
    "Probe": (
        "Exec?ExecAction HTTPGet?HTTPGetAction TCPSocket?TCPSocketAction GRPC?GRPCAction InitialDelaySeconds# "
        "TimeoutSeconds# PeriodSeconds# SuccessThreshold# FailureThreshold# TerminationGracePeriodSeconds?"
    ),
    "ExecAction": "Command?",
    "HTTPGetAction": "Path Port# Host Scheme HTTPHeaders*HTTPHeader",
    "HTTPHeader": "Name Value",
    "TCPSocketAction": "Port# Host",
    "GRPCAction": "Port# Service?",
    "Lifecycle": "PostStart?LifecycleHandler PreStop?LifecycleHandler StopSignal?",
    "LifecycleHandler": "Exec?ExecAction HTTPGet?HTTPGetAction TCPSocket?TCPSocketAction Sleep?SleepAction",
    "SleepAction": "Seconds#",
    "SecurityContext": (
        "Capabilities?Capabilities Privileged? SELinuxOptions?SELinuxOptions "
        "WindowsOptions?WindowsSecurityContextOptions RunAsUser? RunAsGroup? RunAsNonRoot? "
        "ReadOnlyRootFilesystem? AllowPrivilegeEscalation? ProcMount? SeccompProfile?SeccompProfile "
        "AppArmorProfile?AppArmorProfile"
    ),
    "Capabilities": "Add? Drop?",
    "SELinuxOptions": "User Role Type Level",
    "WindowsSecurityContextOptions": "GMSACredentialSpecName? GMSACredentialSpec? RunAsUserName? HostProcess?",
    "SeccompProfile": "Type LocalhostProfile?",
    "AppArmorProfile": "Type LocalhostProfile?",
    "EphemeralContainer": (
        "Name Image Command? Args? WorkingDir Ports*ContainerPort EnvFrom*EnvFromSource Env*EnvVar "
        "Resources.ResourceRequirements ResizePolicy*ContainerResizePolicy RestartPolicy? "
        "RestartPolicyRules*ContainerRestartRule VolumeMounts*VolumeMount VolumeDevices*VolumeDevice "
        "LivenessProbe?Probe ReadinessProbe?Probe StartupProbe?Probe Lifecycle?Lifecycle "
        "TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext?SecurityContext "
        "Stdin! StdinOnce! TTY! TargetContainerName"
    ),
    "PodSecurityContext": (
        "HostNetwork! HostPID! HostIPC! ShareProcessNamespace? HostUsers? SELinuxOptions?SELinuxOptions "
        "WindowsOptions?WindowsSecurityContextOptions RunAsUser? RunAsGroup? RunAsNonRoot? "
        "SupplementalGroups? SupplementalGroupsPolicy? FSGroup? FSGroupChangePolicy? Sysctls*Sysctl "
        "SeccompProfile?SeccompProfile AppArmorProfile?AppArmorProfile SELinuxChangePolicy?"
    ),
    "Sysctl": "Name Value",
    "Affinity": "NodeAffinity?NodeAffinity PodAffinity?PodAffinity PodAntiAffinity?PodAntiAffinity",
    "NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution?NodeSelector "
        "PreferredDuringSchedulingIgnoredDuringExecution*PreferredSchedulingTerm"
    ),
    "NodeSelector": "NodeSelectorTerms*NodeSelectorTerm",
    "NodeSelectorTerm": "MatchExpressions*NodeSelectorRequirement MatchFields*NodeSelectorRequirement",
    "NodeSelectorRequirement": "Key Operator Values?",
    "PreferredSchedulingTerm": "Weight# Preference.NodeSelectorTerm",
    "PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution*PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution*WeightedPodAffinityTerm"
    ),
    "PodAffinityTerm": (
        "LabelSelector?LabelSelector Namespaces? TopologyKey NamespaceSelector?LabelSelector MatchLabelKeys? "
        "MismatchLabelKeys?"
    ),
    "WeightedPodAffinityTerm": "Weight# PodAffinityTerm.PodAffinityTerm",
    "PodAntiAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution*PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution*WeightedPodAffinityTerm"
    ),
    "Toleration": "Key Operator Value Effect TolerationSeconds?",
    "HostAlias": "IP Hostnames?",
    "PodDNSConfig": "Nameservers? Searches? Options*PodDNSConfigOption",
    "PodDNSConfigOption": "Name Value?",
    "PodReadinessGate": "ConditionType",
    "TopologySpreadConstraint": (
        "MaxSkew# TopologyKey WhenUnsatisfiable LabelSelector?LabelSelector MinDomains? NodeAffinityPolicy? "
        "NodeTaintsPolicy? MatchLabelKeys?"
    ),
    "PodOS": "Name",
    "PodSchedulingGate": "Name",
    "PodResourceClaim": "Name ResourceClaimName? ResourceClaimTemplateName?",
    "PodSchedulingGroup": "PodGroupName?",
}
